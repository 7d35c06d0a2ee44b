import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Api, Fields } from './api.js';
import { messageHash } from './message-page.js';
import { Action, Problem, Time } from './parts.js';
import { useLoaded } from './use-loaded.js';

/** What failed for good at a destination, and a way to deliver it again. */
export function FailedMessages({ api, id }: { api: Api; id: string }): JSX.Element {
  const [status, setStatus] = useState('');
  const filter = new URLSearchParams(status === '' ? {} : { status });
  const { value, error, reload } = useLoaded(() => api.failed(id, filter), `failed ${id} ${status}`);
  const [replayed, setReplayed] = useState<number>();
  const fields: Fields = status === '' ? {} : { status: Number(status) };
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const replay = async (chosen: Fields): Promise<void> => {
    setReplayed((await api.replay(id, chosen)).replayed);
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
      <p class="bar">
        <label>
          Status{' '}
          <input
            inputMode="numeric"
            size={4}
            value={status}
            onChange={(event) => {
              setStatus(event.currentTarget.value);
            }}
          />
        </label>
        <Action
          question={async () => {
            const { count } = await api.countFailed(id, filter);
            return count === 0 ? undefined : `Deliver ${messages(count)} again?`;
          }}
          run={() => replay(fields)}
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
      {replayed !== undefined && (
        <p role="status">
          {messages(replayed)} {replayed === 1 ? 'is' : 'are'} delivered again.
        </p>
      )}
      {value?.messages.length === 0 && <p>Nothing that matches has failed for good.</p>}
      {value?.messages.map(({ messageId, type, failedAt, error: code, outcomes, body }) => (
        <div key={messageId} class="selectable">
          <input
            type="checkbox"
            aria-label={`Select ${messageId}`}
            checked={selected.has(messageId)}
            onChange={(event) => {
              select(messageId, event.currentTarget.checked);
            }}
          />
          <details>
            <summary>
              <span class="bad">{outcomes.map((one) => one.status ?? one.error).join(', ') || code}</span>{' '}
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
      ))}
    </section>
  );
}

function messages(count: number): string {
  return count === 1 ? '1 message' : `${count} messages`;
}
