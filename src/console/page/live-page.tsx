import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';
import type { Api } from './api.js';
import { LiveCall } from './live-call.js';
import { LiveFilters, matcherOf, NO_FILTER } from './live-filters.js';
import { numberText } from './number-text.js';
import { PageHeading } from './page-heading.js';
import { Action } from './parts.js';
import { useRowHeight } from './rows.js';
import { useLive, type Live } from './use-live.js';

/** Calls as they are made, in all processes. */
export function LivePage({ api, isOperator }: { api: Api; isOperator: boolean }): JSX.Element {
  const live = useLive(api);
  const list = useRowHeight<HTMLOListElement>();
  const [filter, setFilter] = useState(NO_FILTER);
  const { calls, missed, isPaused, setPaused, clear } = live;
  const follow = useCallback((user: string) => {
    setFilter({ ...NO_FILTER, user });
  }, []);
  const found = calls.filter(matcherOf(filter));
  return (
    <article>
      <PageHeading>Live</PageHeading>
      <State live={live} />
      <LiveFilters filter={filter} calls={calls} isOperator={isOperator} onChange={setFilter} />
      <p class="bar">
        <button
          type="button"
          aria-pressed={isPaused}
          onClick={() => {
            setPaused(!isPaused);
          }}
        >
          Pause
        </button>
        <button type="button" disabled={calls.length === 0} onClick={clear}>
          Clear
        </button>
        {filter !== NO_FILTER && (
          <Action
            run={() => {
              setFilter(NO_FILTER);
              return Promise.resolve();
            }}
          >
            Show all
          </Action>
        )}
      </p>
      {calls.length === 0 ? (
        <Nothing isOperator={isOperator} />
      ) : (
        <p>
          {numberText(found.length)} of {numberText(calls.length)} {calls.length === 1 ? 'event' : 'events'}
          {missed > 0 && (
            <>
              ; {numberText(missed)} more {missed === 1 ? 'is' : 'are'} not shown because there were too many,
              but {missed === 1 ? 'was' : 'were'} handled like all others
            </>
          )}
        </p>
      )}
      <ol ref={list} class="rows" aria-label="Events, the latest first">
        {found.map((call) => (
          <LiveCall key={call.key} call={call} isOperator={isOperator} onFollow={follow} />
        ))}
      </ol>
    </article>
  );
}

/** The state of the connection. Screen readers read it out only when it changes, not with each call. */
function State({ live: { connection, isPaused, held } }: { live: Live }): JSX.Element {
  const { state, error } = connection;
  const texts = {
    connecting: 'Connecting …',
    watching: isPaused ? 'Paused.' : 'Watching: events appear here as they are taken.',
    away: `${error?.message ?? ''} Retrying automatically.`,
    ended: error?.message ?? '',
  };
  const isWell = state === 'watching' || state === 'connecting';
  return (
    <p>
      <span role="status" class={isWell ? '' : 'problem'}>
        {texts[state]}
      </span>
      {isPaused && ` ${numberText(held)} ${held === 1 ? 'event has' : 'events have'} arrived since.`}
    </p>
  );
}

function Nothing({ isOperator }: { isOperator: boolean }): JSX.Element {
  return (
    <p>
      {isOperator ? (
        <>
          No events yet. Call <code>analytics.track()</code> in any process of the application, or send an
          event as one of the <a href="#/sources">sources</a>, and it appears here.
        </>
      ) : (
        'No events yet. Do something in the application that creates one of your events, and it appears here.'
      )}
    </p>
  );
}
