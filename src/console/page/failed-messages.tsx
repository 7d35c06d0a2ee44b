import type { JSX } from 'preact';
import { useCallback, useRef, useState } from 'preact/hooks';
import type { FailedMessage } from '../../deliveries/failed-filter.js';
import type { RecentDelivery } from '../../deliveries/history/history.types.js';
import type { Api, Fields } from './api.js';
import { FailedRow } from './failed-row.js';
import { FailedFilters, filterOf } from './failed-filters.js';
import { Action, Problem } from './parts.js';
import { messagesText, type Progress, replayAll, replayText } from './replay-all.js';
import { useRowHeight, withFirstPage } from './rows.js';
import { useLoaded } from './use-loaded.js';

/** Messages that are shown at first, and how many more if asked to. */
const STEP = 20;
/** The most that the API answers at once. */
const MAX_ANSWER = 100;

interface FailedMessagesProps {
  api: Api;
  /** Of the destination. */
  id: string;
  /** Another one whenever other messages may have failed for good. */
  version: string;
  /** The latest ones there, which tell what was delivered again; `undefined` while they are not known. */
  deliveries: readonly RecentDelivery[] | undefined;
}

/** What failed for good at a destination, and a way to deliver it again. */
export function FailedMessages({ api, id, version, deliveries }: FailedMessagesProps): JSX.Element {
  const [texts, setTexts] = useState({});
  const count = useRef(STEP);
  const list = useRowHeight<HTMLOListElement>();
  const filter = filterOf(texts);
  const shown = useRef<readonly FailedMessage[]>([]);
  const wasTriedAgain = triedAgainIn(deliveries);
  const outdated = shown.current.filter(wasTriedAgain).map(({ messageId }) => messageId);
  const { value, error, reload } = useLoaded(
    (signal) => load(api, id, filter, count.current, signal),
    `failed ${id} ${JSON.stringify(filter)}`,
    {
      version: [version, ...outdated].join(' '),
      renew: async (before, signal) => {
        // Whoever has a thousand on the page waits for no thousand of them with each change.
        const limit = Math.min(count.current, MAX_ANSWER);
        // Reading what waits, too, may take seconds, of which all tenants would have a part.
        const page = await load(api, id, { ...filter, waiting: false }, limit, signal);
        const ended = withFirstPage(
          before.filter(({ waiting }) => !waiting),
          page,
          limit,
          ({ messageId }) => messageId,
        );
        const ids = new Set(ended.map(({ messageId }) => messageId));
        const rest = before.filter((one) => one.waiting && !ids.has(one.messageId) && !wasTriedAgain(one));
        return [...ended, ...rest];
      },
    },
  );
  shown.current = value ?? [];
  const [replayed, setReplayed] = useState<string>();
  const [progress, setProgress] = useState<Progress>();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const replay = async (chosen: Fields): Promise<void> => {
    setReplayed(undefined);
    setReplayed(replayText(await replayAll(api, id, chosen, setProgress)));
    setSelected(new Set());
    await reload();
  };
  const select = useCallback((messageId: string, isSelected: boolean) => {
    setSelected((before) => {
      const others = [...before].filter((one) => one !== messageId);
      return new Set(isSelected ? [...others, messageId] : others);
    });
  }, []);
  return (
    <section>
      <h2>Failed for good</h2>
      <FailedFilters texts={texts} onChange={setTexts} />
      <p class="bar">
        <Action
          question={async () => {
            const { count: all } = await api.countFailed(id, filter);
            return all === 0 ? undefined : `Deliver ${messagesText(all)} again?`;
          }}
          run={() => replay(filter)}
        >
          Replay all that match
        </Action>
        {selected.size > 0 && (
          <Action
            question={`Deliver ${messagesText(selected.size)} again?`}
            run={() => replay({ messageIds: [...selected] })}
          >
            Replay {messagesText(selected.size)}
          </Action>
        )}
        <Action run={reload}>Refresh failed messages</Action>
      </p>
      <Problem error={error} />
      {progress !== undefined && (
        <p>
          <progress aria-label="Replay" value={progress.done} max={progress.all} /> {progress.done} of{' '}
          {messagesText(progress.all)}
        </p>
      )}
      {replayed !== undefined && <p role="status">{replayed}</p>}
      {value?.length === 0 && <p>Nothing that matches has failed for good.</p>}
      <ol ref={list} class="rows" aria-label="Messages that failed for good">
        {value?.map((message) => (
          <FailedRow
            key={message.messageId}
            id={id}
            message={message}
            isSelected={selected.has(message.messageId)}
            onSelect={select}
          />
        ))}
      </ol>
      {value !== undefined && value.length >= count.current && (
        <Action
          run={() => {
            count.current = value.length + MAX_ANSWER;
            return reload();
          }}
        >
          Show more
        </Action>
      )}
    </section>
  );
}

/** Whether there was an attempt after a message had failed for good: somebody has replayed it. */
function triedAgainIn(deliveries: readonly RecentDelivery[] = []): (message: FailedMessage) => boolean {
  const others = deliveries.filter(({ state }) => state !== 'failed');
  const times = new Map(others.map(({ messageId, at }) => [messageId, at]));
  return ({ messageId, failedAt }) => (times.get(messageId) ?? 0) > failedAt;
}

async function load(
  api: Api,
  id: string,
  filter: Fields,
  count: number,
  signal: AbortSignal,
): Promise<FailedMessage[]> {
  const found: FailedMessage[] = [];
  while (found.length < count) {
    const limit = Math.min(count - found.length, MAX_ANSWER);
    const page = await api.failed(id, { ...filter, start: found.length, limit }, signal);
    found.push(...page.messages);
    if (page.messages.length < limit) break;
  }
  return found;
}
