import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FailedMessage } from '../../deliveries/failed-filter.js';
import type { RecentDelivery } from '../../deliveries/history/history.types.js';
import type { Api, ShownRequest } from './api.js';
import { ApiError } from './api-requests.js';
import { Attempts, STATE_CLASSES } from './attempts.js';
import { hintFor } from './error-hints.js';
import { PageHeading } from './page-heading.js';
import { Action, Copyable, Problem, Time } from './parts.js';
import { replayText } from './replay-all.js';
import { hasLoaded, type Loaded, useLoaded } from './use-loaded.js';

interface MessagePageProps {
  api: Api;
  /** Id of the destination. */
  id: string;
  messageId: string;
}

/**
 * What became of one message at one destination, and what is sent for it. Each part appears once it and all parts above
 * it are loaded, so that nothing moves.
 */
export function MessagePage({ api, id, messageId }: MessagePageProps): JSX.Element {
  const [replayed, setReplayed] = useState<string>();
  const key = `${id} ${messageId}`;
  const recent = useLoaded(async (signal) => {
    // Without a history, the failed message may still be known.
    const answer = await unless('HISTORY_DISABLED', api.recent(id, signal));
    return { delivery: answer?.deliveries.find((one) => one.messageId === messageId) };
  }, key);
  const kept = useLoaded(async (signal) => {
    const { messages } = await api.failed(id, { messageIds: messageId }, signal);
    return { failed: messages[0] };
  }, key);
  const explained = useLoaded(async (signal) => {
    // A destination of the application's own code sends no request of this kind.
    const answer = await unless('NOT_A_WEBHOOK', api.explain(id, messageId, signal));
    return { requests: answer?.requests ?? [] };
  }, key);
  if (!hasLoaded(recent)) return <p>Loading …</p>;

  const parts = [recent, kept, explained];
  const loadMissing = (): Promise<void> => reloadAll(parts.filter(({ error }) => error !== undefined));
  const delivery = recent.value?.delivery;
  const failed = kept.value?.failed;
  return (
    <article>
      <p>
        <a href={`#/destinations/${encodeURIComponent(id)}`}>The destination</a>
      </p>
      <PageHeading>{delivery?.event ?? delivery?.type ?? failed?.type ?? 'Message'}</PageHeading>
      <p>
        Message <code>{messageId}</code>{' '}
        {delivery !== undefined && <span class={STATE_CLASSES[delivery.state]}>{delivery.state}</span>}
      </p>
      <Reason error={delivery?.error} />
      {delivery !== undefined && delivery.attempts.length > 0 && <Attempts attempts={delivery.attempts} />}
      <Missing error={recent.error} reload={loadMissing}>
        Load its attempts again
      </Missing>
      {hasLoaded(kept) ? (
        <>
          <Failed
            failed={failed}
            delivery={delivery}
            isCertain={(recent.error ?? kept.error) === undefined}
          />
          {/* The queue may be away, or there may be no such destination: one error is enough. */}
          <Missing error={isSame(kept.error, recent.error) ? undefined : kept.error} reload={loadMissing}>
            Load the failed message again
          </Missing>
          {failed !== undefined && (
            <Action
              run={async () => {
                setReplayed(replayText(await api.replay(id, { messageIds: [messageId] })));
                await reloadAll(parts);
              }}
            >
              Replay this message
            </Action>
          )}
          {replayed !== undefined && <p role="status">{replayed}</p>}
          <Requests explained={explained} kept={kept} loadMissing={loadMissing} />
        </>
      ) : (
        <p>Loading …</p>
      )}
    </article>
  );
}

interface FailedProps {
  failed: FailedMessage | undefined;
  delivery: RecentDelivery | undefined;
  /** Whether nothing else may be known. */
  isCertain: boolean;
}

/** How a message failed for good, as far as its delivery does not say so. */
function Failed({ failed, delivery, isCertain }: FailedProps): JSX.Element {
  const reason = failed === undefined || failed.error === 'DELIVERY_FAILED' ? undefined : failed.error;
  const outcomes = delivery === undefined ? (failed?.outcomes ?? []) : [];
  const isUnknown =
    (delivery?.attempts ?? outcomes).length === 0 && (reason ?? delivery?.error) === undefined;
  return (
    <>
      {failed !== undefined && (
        <p>
          <span class="bad">failed for good</span> <Time at={failed.failedAt} />
        </p>
      )}
      <Reason error={reason === delivery?.error ? undefined : reason} />
      {outcomes.length > 0 && (
        <Attempts attempts={outcomes.map((outcome) => ({ ...outcome, origin: undefined }))} />
      )}
      {isUnknown && isCertain && <p>Nothing is known about its attempts.</p>}
    </>
  );
}

/** Why a message could not be tried. */
function Reason({ error }: { error: string | undefined }): JSX.Element | null {
  if (error === undefined) return null;
  return (
    <p>
      <span class="bad">{error}</span> {hintFor({ error })}
    </p>
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

interface RequestsProps {
  explained: Loaded<{ requests: ShownRequest[] }>;
  kept: Loaded<{ failed: FailedMessage | undefined }>;
  loadMissing: () => Promise<void>;
}

/** The requests that would be sent for a message. */
function Requests({ explained, kept, loadMissing }: RequestsProps): JSX.Element {
  if (!hasLoaded(explained)) return <p>Loading …</p>;
  const requests = explained.value?.requests ?? [];
  const isKept = kept.value?.failed !== undefined;
  const isCertain = (kept.error ?? explained.error) === undefined;
  return (
    <>
      {requests.map((request) => (
        <Request key={request.url} request={request} />
      ))}
      {/* Both read the failed message, so one error is enough. */}
      <Missing error={kept.error === undefined ? explained.error : undefined} reload={loadMissing}>
        Load its request again
      </Missing>
      {isKept && requests.length === 0 && isCertain && (
        <p>Its destination is code in the application, so there is no request to show.</p>
      )}
      {!isKept && isCertain && <p>The request is shown only while the message is kept as failed.</p>}
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

async function reloadAll(parts: readonly Pick<Loaded<unknown>, 'reload'>[]): Promise<void> {
  await Promise.all(parts.map(({ reload }) => reload()));
}

/** Resolves to the answer, or to `undefined` if an error has a code that says that there is nothing. */
async function unless<T>(none: string, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ApiError && error.code === none) return undefined;
    throw error;
  }
}

function isSame(one: Error | undefined, other: Error | undefined): boolean {
  return one instanceof ApiError && other instanceof ApiError && one.code === other.code;
}

/** Returns the address of a message's page, from the `#` on. */
export function messageHash(id: string, messageId: string): string {
  return `#/destinations/${encodeURIComponent(id)}/messages/${encodeURIComponent(messageId)}`;
}
