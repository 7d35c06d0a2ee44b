import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RecentDelivery } from '../../deliveries/history/history.types.js';
import type { Api, ShownRequest } from './api.js';
import { ApiError } from './api-requests.js';
import { Attempts, STATE_CLASSES } from './attempts.js';
import { hintFor } from './error-hints.js';
import { PageHeading } from './page-heading.js';
import { Action, Copyable, NotLoaded, Problem, Time } from './parts.js';
import { replayText } from './replay-all.js';
import { useLoaded } from './use-loaded.js';

/** What became of one message at one destination, and what is sent for it. */
export function MessagePage({
  api,
  id,
  messageId,
}: {
  api: Api;
  id: string;
  messageId: string;
}): JSX.Element {
  const [replayed, setReplayed] = useState<string>();
  const loaded = useLoaded((signal) => load(api, id, messageId, signal), `${id} ${messageId}`);
  const { value, error, reload } = loaded;
  if (value === undefined) return <NotLoaded loaded={loaded} />;
  const { delivery, failed, requests, historyError } = value;
  const attempts =
    delivery?.attempts ?? failed?.outcomes.map((outcome) => ({ ...outcome, origin: undefined })) ?? [];
  const reason = failed === undefined || failed.error === 'DELIVERY_FAILED' ? delivery?.error : failed.error;
  return (
    <article>
      <p>
        <a href={`#/destinations/${encodeURIComponent(id)}`}>The destination</a>
      </p>
      <PageHeading>{delivery?.event ?? delivery?.type ?? failed?.type ?? 'Message'}</PageHeading>
      <Problem error={error} />
      <p>
        Message <code>{messageId}</code>
        {failed === undefined && delivery !== undefined && (
          <span class={STATE_CLASSES[delivery.state]}> {delivery.state}</span>
        )}
        {failed !== undefined && (
          <>
            {' '}
            <span class="bad">failed for good</span> <Time at={failed.failedAt} />
          </>
        )}
      </p>
      {reason !== undefined && (
        <p>
          <span class="bad">{reason}</span> {hintFor({ error: reason })}
        </p>
      )}
      {attempts.length > 0 && <Attempts attempts={attempts} />}
      {historyError !== undefined && (
        <>
          <Problem error={historyError} />
          <Action run={reload}>Load its attempts again</Action>
        </>
      )}
      {attempts.length === 0 && reason === undefined && historyError === undefined && (
        <p>Nothing is known of its attempts.</p>
      )}
      {failed !== undefined && (
        <Action
          run={async () => {
            setReplayed(replayText(await api.replay(id, { messageIds: [messageId] })));
            await reload();
          }}
        >
          Replay this message
        </Action>
      )}
      {replayed !== undefined && <p role="status">{replayed}</p>}
      {requests.map((request) => (
        <Request key={request.url} request={request} />
      ))}
      {failed !== undefined && requests.length === 0 && <p>Its destination is code of the application.</p>}
      {failed === undefined && <p>The request is shown while a message is kept as failed.</p>}
    </article>
  );
}

function Request({ request: { method, url, headers, body, curl } }: { request: ShownRequest }): JSX.Element {
  return (
    <section>
      <h2>
        {method} {url}
      </h2>
      <pre tabIndex={0}>
        {headers.map(([name, value]) => `${name}: ${value}\n`).join('')}
        {`\n${body}`}
      </pre>
      <h3>The same with curl</h3>
      <Copyable text={curl} />
    </section>
  );
}

async function load(api: Api, id: string, messageId: string, signal: AbortSignal) {
  const [{ deliveries, historyError }, { messages }, { requests }] = await Promise.all([
    // Without a history there is still what failed.
    recent(api, id, signal),
    api.failed(id, { messageIds: messageId }, signal),
    api.explain(id, messageId, signal).catch((error: unknown) => {
      // A destination of the application's own code sends no request of this kind.
      if (error instanceof ApiError && error.code === 'NOT_A_WEBHOOK') return { requests: [] };
      throw error;
    }),
  ]);
  return {
    delivery: deliveries.find((one) => one.messageId === messageId),
    failed: messages[0],
    requests,
    historyError,
  };
}

/** The latest deliveries, or why they are not known; the application may keep none. */
async function recent(
  api: Api,
  id: string,
  signal: AbortSignal,
): Promise<{ deliveries: RecentDelivery[]; historyError?: Error }> {
  try {
    return await api.recent(id, signal);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'HISTORY_DISABLED') return { deliveries: [] };
    return { deliveries: [], historyError: error as Error };
  }
}

/** Where the page of a message is. */
export function messageHash(id: string, messageId: string): string {
  return `#/destinations/${encodeURIComponent(id)}/messages/${encodeURIComponent(messageId)}`;
}
