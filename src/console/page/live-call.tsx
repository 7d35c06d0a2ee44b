import type { JSX } from 'preact';
import type { ShownCall } from './use-live.js';

const CLASSES = { taken: 'good', dropped: 'waiting', refused: 'bad' };

interface LiveCallProps {
  call: ShownCall;
  isOperator: boolean;
  /** Shows only the calls of a user. */
  onFollow: (user: string) => void;
}

/** A call, with its JSON behind it. */
export function LiveCall({ call, isOperator, onFollow }: LiveCallProps): JSX.Element {
  const { at, outcome, reason, source, tenant, type, name, messageId, json, isCut } = call;
  const user = call.userId ?? call.anonymousId;
  const time = new Date(at);
  return (
    <li>
      <details>
        <summary>
          <time dateTime={time.toISOString()} title={time.toLocaleString()}>
            {time.toLocaleTimeString()}
          </time>{' '}
          <span class={CLASSES[outcome]}>{outcome}</span> {type} <b>{name}</b>{' '}
          <small>{[user, source, isOperator && tenant].filter(Boolean).join(' · ')}</small>
        </summary>
        {reason !== undefined && <p class={CLASSES[outcome]}>{reason}</p>}
        {user !== undefined && (
          <p class="bar">
            <button
              type="button"
              onClick={() => {
                onFollow(user);
              }}
            >
              Follow {user}
            </button>
          </p>
        )}
        {messageId !== undefined && (
          <p>
            Message <code>{messageId}</code>
          </p>
        )}
        {isCut === true && <p>It is long, so this is only its beginning.</p>}
        {json !== undefined && <pre tabIndex={0}>{isCut === true ? json : indented(json)}</pre>}
      </details>
    </li>
  );
}

function indented(json: string): string {
  return JSON.stringify(JSON.parse(json), null, 2);
}
