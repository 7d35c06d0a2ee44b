import type { JSX } from 'preact';
import type { Overview } from '../console-reports.js';
import type { Api } from './api.js';
import { KINDS, sumOf } from './chart-period.js';
import { Status, titleOf } from './destination-list.js';
import { numberText } from './number-text.js';
import { OverviewCharts } from './overview-charts.js';
import { PageHeading } from './page-heading.js';
import { Action, ConnectionNotice, NotLoaded, Problem, Time } from './parts.js';
import { useChanges } from './use-changes.js';
import { useLoaded } from './use-loaded.js';

const QUEUE = { up: 'Up', down: 'Down: it cannot be reached', refusing: 'Not accepting jobs' };
const AWAY = "Unknown while the queue's database does not answer. This part appears as soon as it does.";
const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;

/** How analytics is doing: the first page of the operator. */
export function OverviewPage({ api }: { api: Api }): JSX.Element {
  const { version, connection } = useChanges(api);
  const loaded = useLoaded((signal) => api.overview(signal), 'overview', { version });
  const { value, error, reload } = loaded;
  if (value === undefined) return <NotLoaded loaded={loaded} />;
  const { health, stored } = value;
  return (
    <article>
      <PageHeading>Overview</PageHeading>
      <Problem error={error} />
      <Tiles overview={value} />
      {health.refused > 0 && (
        <p>
          Further refusals are shown <a href="#/live">live</a>, with their reasons.
        </p>
      )}
      {health.reasons?.map((reason) => (
        <p key={reason} class="problem">
          {reason}
        </p>
      ))}
      {stored === undefined ? (
        <section>
          <h2>The last seven days</h2>
          <p>{AWAY}</p>
        </section>
      ) : (
        <OverviewCharts stored={stored} waiting={health.waiting ?? 0} />
      )}
      <Down overview={value} />
      <section>
        <h2>Disabled destinations</h2>
        {stored === undefined ? <p>{AWAY}</p> : <Disabled stored={stored} />}
      </section>
      <Action run={reload}>Refresh</Action>
      <ConnectionNotice connection={connection} />
    </article>
  );
}

function Tiles({ overview: { health, stored } }: { overview: Overview }): JSX.Element {
  const { queue, waiting, oldest, refused, buffered, worker, outbox } = health;
  const { minutes = [] } = stored ?? {};
  const counts = KINDS.map((kind): [string, string] => [
    `${kind} in the last hour`,
    numberText(sumOf(minutes, kind)),
  ]);
  const tiles: [string, string][] = [
    ...(minutes.length === 0 ? [] : counts),
    ['waiting', waiting === undefined ? 'unknown' : numberText(waiting)],
    ['oldest waiting job', oldest === undefined ? 'unknown' : durationText(oldest)],
    ...outboxTiles(outbox),
    ['refused by this process', numberText(refused)],
    ['not in the queue yet', numberText(buffered.messages)],
    ['the queue', QUEUE[queue]],
    ['the worker of this process', worker],
  ];
  return (
    <dl class="tiles">
      {tiles.map(([name, text]) => (
        <div key={name}>
          <dt>{capitalized(name)}</dt>
          <dd>{capitalized(text)}</dd>
        </div>
      ))}
    </dl>
  );
}

function outboxTiles(outbox: Overview['health']['outbox']): [string, string][] {
  if (outbox === undefined) return [];
  const { waiting, oldestAge, setAside } = outbox;
  return [
    ['in the outbox', numberText(waiting)],
    ['oldest in the outbox', durationText(oldestAge)],
    ['set aside in the outbox', numberText(setAside)],
  ];
}

function Disabled({
  stored: { disabled, moreDisabled, lookedAt },
}: {
  stored: NonNullable<Overview['stored']>;
}): JSX.Element {
  if (disabled === undefined) {
    return <p>Unknown: the store of this application does not list its destinations.</p>;
  }
  if (disabled.length === 0) {
    const among = lookedAt && ` among the first ${numberText(lookedAt)} destinations`;
    return <p>None{among}.</p>;
  }
  return (
    <>
      <ul>
        {disabled.map((one) => (
          <li key={one.id}>
            <a href={`#/destinations/${encodeURIComponent(one.id)}`}>
              <bdi>{titleOf(one)}</bdi>
            </a>{' '}
            <Status destination={one} />
          </li>
        ))}
      </ul>
      {moreDisabled !== undefined && (
        <p>
          {numberText(moreDisabled)} more {moreDisabled === 1 ? 'is' : 'are'} disabled.
        </p>
      )}
      {lookedAt !== undefined && <p>There may be more.</p>}
    </>
  );
}

function Down({ overview: { health } }: { overview: Overview }): JSX.Element {
  return (
    <section>
      <h2>URLs that are down</h2>
      {health.endpointsDown.length === 0 && <p>None, as seen by this process.</p>}
      <ul>
        {health.endpointsDown.map(({ destination, url, origin, since }) => (
          <li key={`${destination} ${url}`}>
            <a href={`#/destinations/${encodeURIComponent(destination)}`}>{origin}</a>{' '}
            <span class="bad">
              down since <Time at={since} />
            </span>{' '}
            {/* Many destinations may share an origin. */}
            <small>{destination}</small>
          </li>
        ))}
      </ul>
      {health.moreEndpointsDown !== undefined && (
        <p class="bad">
          {numberText(health.moreEndpointsDown)} more {health.moreEndpointsDown === 1 ? 'is' : 'are'} down, as
          seen by this process: <code>analytics.status()</code> lists all of them.
        </p>
      )}
    </section>
  );
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Formats a duration in the largest unit of which it has at least one, rounded down. */
function durationText(milliseconds: number): string {
  if (milliseconds === 0) return 'none';
  const [size, unit] = UNITS.find(([each]) => milliseconds >= each) ?? [1, 'ms'];
  return `${Math.floor(milliseconds / size)} ${unit}`;
}
