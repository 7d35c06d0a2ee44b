import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { FailedMessage } from '../../deliveries/failed-filter.js';
import { messageHash } from './message-page.js';
import { Details, Time } from './parts.js';

interface FailedRowProps {
  /** Id of the destination. */
  id: string;
  message: FailedMessage;
  isSelected: boolean;
  onSelect: (messageId: string, isSelected: boolean) => void;
}

/** A message that failed for good, and its body once opened. Rendered again only when it or its selection changes. */
export function FailedRow({ id, message, isSelected, onSelect }: FailedRowProps): JSX.Element {
  const { messageId, type, failedAt, error, outcomes, body } = message;
  return useMemo(
    () => (
      <li class="row selectable" data-id={messageId}>
        <input
          type="checkbox"
          aria-label={`Select ${messageId}`}
          checked={isSelected}
          onChange={(event) => {
            onSelect(messageId, event.currentTarget.checked);
          }}
        />
        <Details
          summary={
            <>
              <span class="bad">{outcomes.map((one) => one.status ?? one.error).join(', ') || error}</span>{' '}
              {type ?? 'unknown'} <Time at={failedAt} />
            </>
          }
        >
          {() => (
            <>
              <p>
                <a href={messageHash(id, messageId)}>
                  Message <code>{messageId}</code>
                </a>
              </p>
              <pre tabIndex={0}>{body}</pre>
            </>
          )}
        </Details>
      </li>
    ),
    [id, message, isSelected, onSelect],
  );
}
