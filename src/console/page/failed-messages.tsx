import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Api, Fields } from './api.js';
import { Action, Problem, Time } from './parts.js';
import { useLoaded } from './use-loaded.js';

/** What failed for good at a destination, and a way to deliver it again. */
export function FailedMessages({ api, id }: { api: Api; id: string }): JSX.Element {
  const [status, setStatus] = useState('');
  const filter = new URLSearchParams(status === '' ? {} : { status });
  const { value, error, reload } = useLoaded(() => api.failed(id, filter), `failed ${id} ${status}`);
  const [replayed, setReplayed] = useState<number>();
  const fields: Fields = status === '' ? {} : { status: Number(status) };
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
          question="Deliver all messages again that match?"
          run={async () => {
            setReplayed((await api.replay(id, fields)).replayed);
            await reload();
          }}
        >
          Replay
        </Action>
        <Action run={reload}>Refresh failed messages</Action>
      </p>
      <Problem error={error} />
      {replayed !== undefined && (
        <p role="status">{replayed === 1 ? '1 message is' : `${replayed} messages are`} delivered again.</p>
      )}
      {value?.messages.length === 0 && <p>Nothing that matches has failed for good.</p>}
      {value?.messages.map(({ messageId, type, failedAt, error: code, outcomes, body }) => (
        <details key={messageId}>
          <summary>
            <span class="bad">{outcomes.map((one) => one.status ?? one.error).join(', ') || code}</span>{' '}
            {type ?? 'unknown'} <Time at={failedAt} />
          </summary>
          <p>
            Message <code>{messageId}</code>
          </p>
          <pre>{body}</pre>
        </details>
      ))}
    </section>
  );
}
