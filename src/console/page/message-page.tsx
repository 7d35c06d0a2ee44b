import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
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
  const { delivery, failed, requests, historyError, failedError, requestsError } = value;
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
        Message <code>{messageId}</code>{' '}
        {failed === undefined && delivery !== undefined && (
          <span class={STATE_CLASSES[delivery.state]}>{delivery.state}</span>
        )}
        {failed !== undefined && (
          <>
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
      <Missing error={historyError} reload={reload}>
        Load its attempts again
      </Missing>
      {attempts.length === 0 && reason === undefined && (historyError ?? failedError) === undefined && (
        <p>Nothing is known about its attempts.</p>
      )}
      <Missing error={failedError} reload={reload}>
        Load the failed message again
      </Missing>
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
      <Missing error={requestsError} reload={reload}>
        Load its request again
      </Missing>
      {failed !== undefined && requests.length === 0 && requestsError === undefined && (
        <p>Its destination is code in the application, so there is no request to show.</p>
      )}
      {failed === undefined && (failedError ?? requestsError) === undefined && (
        <p>The request is shown only while the message is kept as failed.</p>
      )}
    </article>
  );
}

/** Shown in place of a part that could not be loaded. */
function Missing({
  error,
  reload,
  children,
}: {
  error: Error | undefined;
  reload: () => Promise<void>;
  children: string;
}): JSX.Element | null {
  if (error === undefined) return null;
  return (
    <>
      <Problem error={error} />
      <Action run={reload}>{children}</Action>
    </>
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

/** Loads what is known of the message. Each part may be known without the others. */
async function load(api: Api, id: string, messageId: string, signal: AbortSignal) {
  const [recent, kept, explained] = await Promise.all([
    // Without a history, the failed message may still be known.
    partOf(api.recent(id, signal), 'HISTORY_DISABLED'),
    partOf(api.failed(id, { messageIds: messageId }, signal)),
    // A destination of the application's own code sends no request of this kind.
    partOf(api.explain(id, messageId, signal), 'NOT_A_WEBHOOK'),
  ]);
  const delivery = recent.answer?.deliveries.find((one) => one.messageId === messageId);
  // There may be no such destination, and a single error is enough.
  if (delivery === undefined && kept.error !== undefined && explained.error !== undefined) throw kept.error;
  return {
    delivery,
    historyError: recent.error,
    failed: kept.answer?.messages[0],
    failedError: kept.error,
    requests: explained.answer?.requests ?? [],
    // Both requests read the failed message, so one error is enough.
    requestsError: kept.error === undefined ? explained.error : undefined,
  };
}

/** Resolves to the answer or the error. @param none the code of an error that says that there is nothing */
async function partOf<T>(asked: Promise<T>, none?: string): Promise<{ answer?: T; error?: Error }> {
  try {
    return { answer: await asked };
  } catch (error) {
    return error instanceof ApiError && error.code === none ? {} : { error: error as Error };
  }
}

/** Returns the address of a message's page, from the `#` on. */
export function messageHash(id: string, messageId: string): string {
  return `#/destinations/${encodeURIComponent(id)}/messages/${encodeURIComponent(messageId)}`;
}
