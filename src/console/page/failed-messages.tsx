import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { FailedMessage } from '../../deliveries/failed-filter.js';
import type { RecentDelivery } from '../../deliveries/history/history.types.js';
import type { Api } from './api.js';
import type { Fields } from './api-requests.js';
import { FailedRow } from './failed-row.js';
import { FailedFilters, filterOf } from './failed-filters.js';
import { type FailedList, MOST_ROWS, renewedList, rowsBelow } from './failed-list.js';
import { goneAmong, MAX_ANSWER, readLatest } from './failed-reads.js';
import { numberText } from './number-text.js';
import { Action, Problem } from './parts.js';
import { messagesText, type Progress, replayAll, replayText } from './replay-all.js';
import { useRowHeight } from './rows.js';
import { rowsRead } from './rows-read.js';
import { TriedAgain } from './tried-again.js';
import { useLoaded } from './use-loaded.js';

/** Number of messages that are shown at first. */
const STEP = 20;
const EMPTY: FailedList = { rows: [], apart: [] };
const NONE: ReadonlySet<string> = new Set();
const NOTHING_TO_REPLAY = 'No matching message has failed for good, so nothing was replayed.';

interface FailedMessagesProps {
  api: Api;
  /** Id of the destination. */
  id: string;
  /** Changes whenever more messages may have failed for good. */
  version: string;
  /** Latest deliveries of the destination, which show what was replayed; `undefined` while they are not known. */
  deliveries: readonly RecentDelivery[] | undefined;
}

/** The messages that failed for good at a destination, and a way to deliver them again. */
export function FailedMessages({ api, id, version, deliveries }: FailedMessagesProps): JSX.Element {
  const [texts, setTexts] = useState({});
  const count = useRef(STEP);
  /** Number of rows to read next, if the reader has asked for more. */
  const wanted = useRef<number | undefined>(undefined);
  const list = useRowHeight<HTMLOListElement>();
  const filter = filterOf(texts);
  const shown = useRef<readonly FailedMessage[]>([]);
  const [triedAgain] = useState(() => new TriedAgain());
  triedAgain.look(deliveries);
  /** Number of gaps in the deliveries for which the rows were checked, and are to be checked. */
  const gaps = useRef({ checked: 0, due: 0 });
  if (shown.current.length > 0 && triedAgain.gaps > gaps.current.checked) gaps.current.due = triedAgain.gaps;
  const outdated = shown.current.filter(triedAgain.includes).map(({ messageId }) => messageId);
  const { value, error, reload } = useLoaded<FailedList>(
    async (signal) => {
      const { gaps: checked } = triedAgain;
      const asked = wanted.current ?? count.current;
      wanted.current = undefined;
      const { messages, isAll } = await readLatest(api, { id, filter, count: asked }, signal);
      count.current = isAll ? asked : messages.length;
      gaps.current.checked = checked;
      return { rows: messages, apart: [] };
    },
    `failed ${id} ${JSON.stringify(filter)}`,
    {
      version: [version, gaps.current.due, ...outdated].join(' '),
      renew: async (before, signal) => {
        const { gaps: checked } = triedAgain;
        const ended = before.rows.filter(({ waiting }) => !waiting);
        const known = new Set(ended.map(({ messageId }) => messageId));
        // Reading waiting messages as well may take seconds, and would slow down all tenants.
        const selection = { id, filter: { ...filter, waiting: false }, count: count.current };
        // Stops at the first page with a known message, so that a change does not read a thousand rows again.
        const latest = await readLatest(api, selection, signal, (page) =>
          page.some(({ messageId }) => known.has(messageId)),
        );
        // If some deliveries are not known, only the API knows whether the other rows are still kept.
        const isUnsure = deliveries === undefined || checked > gaps.current.checked;
        const gone = isUnsure
          ? await goneAmong(api, { id, filter }, rowsBelow(before, latest), signal)
          : NONE;
        gaps.current.checked = checked;
        const isGone = (one: FailedMessage): boolean => triedAgain.includes(one) || gone.has(one.messageId);
        const read = rowsRead(list.current);
        const isRead = ({ messageId }: FailedMessage): boolean => read.has(messageId);
        return renewedList(before, latest, { count: count.current, isRead, isGone });
      },
    },
  );
  const before = useRef<FailedList>(EMPTY);
  if (value !== undefined) before.current = value;
  const isLoading = value === undefined && error === undefined;
  // The result of the previous filter stays until the result of this filter is known.
  const { rows, apart } = isLoading ? before.current : (value ?? EMPTY);
  shown.current = [...rows, ...apart];
  const [replayed, setReplayed] = useState<string>();
  const [progress, setProgress] = useState<Progress>();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const ticked = shown.current.map(({ messageId }) => messageId).filter((one) => selected.has(one));
  useEffect(() => {
    // A message that is not shown is not replayed. If it comes back, it is no longer ticked.
    const ids = new Set(shown.current.map(({ messageId }) => messageId));
    setSelected((before) => {
      const stay = [...before].filter((one) => ids.has(one));
      return stay.length === before.size ? before : new Set(stay);
    });
  }, [value]);
  const replay = async (chosen: Fields): Promise<void> => {
    setReplayed(undefined);
    setReplayed(replayText(await replayAll(api, id, chosen, setProgress)));
    const { messageIds } = chosen;
    // Messages that were selected meanwhile stay selected, and so do those still shown after a replay of all.
    if (Array.isArray(messageIds)) {
      setSelected((now) => new Set([...now].filter((one) => !messageIds.includes(one))));
    }
    await reload();
  };
  const select = useCallback((messageId: string, isSelected: boolean) => {
    setSelected((before) => {
      const others = [...before].filter((one) => one !== messageId);
      return new Set(isSelected ? [...others, messageId] : others);
    });
  }, []);
  const rowOf = (message: FailedMessage): JSX.Element => (
    <FailedRow
      key={message.messageId}
      id={id}
      message={message}
      isSelected={selected.has(message.messageId)}
      onSelect={select}
    />
  );
  return (
    <section>
      <h2>Failed for good</h2>
      <FailedFilters texts={texts} onChange={setTexts} />
      <p class="bar">
        <Action
          question={async () => {
            setReplayed(undefined);
            const { count: all } = await api.countFailed(id, filter);
            if (all > 0) return `Deliver ${messagesText(all)} again?`;
            setReplayed(NOTHING_TO_REPLAY);
            return undefined;
          }}
          run={() => replay(filter)}
        >
          Replay all that match
        </Action>
        {ticked.length > 0 && (
          <Action
            question={`Deliver ${messagesText(ticked.length)} again?`}
            run={() => replay({ messageIds: ticked })}
          >
            Replay {messagesText(ticked.length)}
          </Action>
        )}
        <Action run={reload}>Refresh failed messages</Action>
        <span role="status">{isLoading && 'Loading …'}</span>
      </p>
      <Problem error={error} />
      {progress !== undefined && (
        <p>
          <progress aria-label="Replay" value={progress.done} max={progress.all} />{' '}
          {numberText(progress.done)} of {messagesText(progress.all)}
        </p>
      )}
      {replayed !== undefined && <p role="status">{replayed}</p>}
      {value !== undefined && shown.current.length === 0 && <p>No matching message has failed for good.</p>}
      <ol
        ref={list}
        class={isLoading ? 'rows outdated' : 'rows'}
        aria-label="Messages that failed for good"
        aria-busy={isLoading}
      >
        {/* One array, so that a row that moves to `apart` stays the same element and keeps its focus. */}
        {[...rows.map(rowOf), ...(apart.length === 0 ? [] : [<Gap key="" />]), ...apart.map(rowOf)]}
      </ol>
      {rows.length >= count.current && (
        <More
          count={count.current}
          onMore={() => {
            wanted.current = Math.min(rows.length + MAX_ANSWER, MOST_ROWS);
            return reload();
          }}
        />
      )}
    </section>
  );
}

function Gap(): JSX.Element {
  return (
    <li class="gap">
      More messages have failed in between. The messages below are older, and stay here while they are in
      view, open or selected.
    </li>
  );
}

function More({ count, onMore }: { count: number; onMore: () => Promise<void> }): JSX.Element {
  if (count < MOST_ROWS) return <Action run={onMore}>Show more</Action>;
  return <p>These are the latest {messagesText(MOST_ROWS)}. Use the filters to find others.</p>;
}
