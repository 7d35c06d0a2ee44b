import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FailedMessage } from '../../deliveries/failed-filter.js';
import type { Api, Fields } from './api.js';
import { FailedFilters, filterOf } from './failed-filters.js';
import { messageHash } from './message-page.js';
import { Action, Problem, Time } from './parts.js';
import { type Progress, replayAll } from './replay-all.js';
import { useLoaded } from './use-loaded.js';

/** Messages that are shown at first, and how many more if asked to. */
const STEP = 20;
/** The most that the API answers at once. */
const MAX_ANSWER = 100;

/** What failed for good at a destination, and a way to deliver it again. */
export function FailedMessages({ api, id }: { api: Api; id: string }): JSX.Element {
  const [texts, setTexts] = useState({});
  const [count, setCount] = useState(STEP);
  const filter = filterOf(texts);
  const { value, error, reload } = useLoaded(
    () => load(api, id, filter, count),
    `failed ${id} ${count} ${JSON.stringify(filter)}`,
  );
  const [replayed, setReplayed] = useState<number>();
  const [progress, setProgress] = useState<Progress>();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const replay = async (chosen: Fields): Promise<void> => {
    setReplayed(undefined);
    setReplayed(await replayAll(api, id, chosen, setProgress));
    setSelected(new Set());
    await reload();
  };
  const select = (messageId: string, isSelected: boolean): void => {
    const others = [...selected].filter((one) => one !== messageId);
    setSelected(new Set(isSelected ? [...others, messageId] : others));
  };
  return (
    <section>
      <h2>Failed for good</h2>
      <FailedFilters texts={texts} onChange={setTexts} />
      <p class="bar">
        <Action
          question={async () => {
            const { count: all } = await api.countFailed(id, filter);
            return all === 0 ? undefined : `Deliver ${messages(all)} again?`;
          }}
          run={() => replay(filter)}
        >
          Replay all that match
        </Action>
        {selected.size > 0 && (
          <Action
            question={`Deliver ${messages(selected.size)} again?`}
            run={() => replay({ messageIds: [...selected] })}
          >
            Replay {messages(selected.size)}
          </Action>
        )}
        <Action run={reload}>Refresh failed messages</Action>
      </p>
      <Problem error={error} />
      {progress !== undefined && (
        <p>
          <progress aria-label="Replay" value={progress.done} max={progress.all} /> {progress.done} of{' '}
          {messages(progress.all)}
        </p>
      )}
      {replayed !== undefined && (
        <p role="status">
          {messages(replayed)} {replayed === 1 ? 'is' : 'are'} delivered again.
        </p>
      )}
      {value?.length === 0 && <p>Nothing that matches has failed for good.</p>}
      {value?.map((message) => (
        <Failed
          key={message.messageId}
          id={id}
          message={message}
          isSelected={selected.has(message.messageId)}
          onSelect={select}
        />
      ))}
      {value?.length === count && (
        <button
          type="button"
          onClick={() => {
            setCount(count + MAX_ANSWER);
          }}
        >
          Show more
        </button>
      )}
    </section>
  );
}

interface FailedProps {
  /** Of the destination. */
  id: string;
  message: FailedMessage;
  isSelected: boolean;
  onSelect: (messageId: string, isSelected: boolean) => void;
}

function Failed({ id, message, isSelected, onSelect }: FailedProps): JSX.Element {
  const { messageId, type, failedAt, error, outcomes, body } = message;
  return (
    <div class="selectable">
      <input
        type="checkbox"
        aria-label={`Select ${messageId}`}
        checked={isSelected}
        onChange={(event) => {
          onSelect(messageId, event.currentTarget.checked);
        }}
      />
      <details>
        <summary>
          <span class="bad">{outcomes.map((one) => one.status ?? one.error).join(', ') || error}</span>{' '}
          {type ?? 'unknown'} <Time at={failedAt} />
        </summary>
        <p>
          <a href={messageHash(id, messageId)}>
            Message <code>{messageId}</code>
          </a>
        </p>
        <pre tabIndex={0}>{body}</pre>
      </details>
    </div>
  );
}

async function load(api: Api, id: string, filter: Fields, count: number): Promise<FailedMessage[]> {
  const found: FailedMessage[] = [];
  while (found.length < count) {
    const limit = Math.min(count - found.length, MAX_ANSWER);
    const page = await api.failed(id, { ...filter, start: found.length, limit });
    found.push(...page.messages);
    if (page.messages.length < limit) break;
  }
  return found;
}

function messages(count: number): string {
  return count === 1 ? '1 message' : `${count} messages`;
}
