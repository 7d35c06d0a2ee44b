import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { DestinationDetails } from '../../stored-destinations/destinations.types.js';
import type { Api } from './api.js';
import { PageHeading } from './page-heading.js';
import { Action, NotLoaded, Time } from './parts.js';
import { useRowHeight } from './rows.js';
import { useLoaded } from './use-loaded.js';

/** The destinations that the reader of the page may see. */
export function DestinationList({ api, isOperator }: { api: Api; isOperator: boolean }): JSX.Element {
  const loaded = useLoaded((signal) => api.list(undefined, signal), 'list');
  const { value } = loaded;
  const [more, setMore] = useState<{ destinations: DestinationDetails[]; cursor: string | undefined }>();
  const [search, setSearch] = useState('');
  const list = useRef<HTMLElement>(null);
  if (value === undefined) return <NotLoaded loaded={loaded} />;
  const all = [...value.destinations, ...(more?.destinations ?? [])];
  const cursor = more === undefined ? value.cursor : more.cursor;
  if (all.length === 0) {
    return (
      <section>
        <PageHeading>Destinations</PageHeading>
        <p>There are no destinations yet. Add one, and events are delivered to its URL from then on.</p>
        <a class="button" href="#/new">
          Add a destination
        </a>
      </section>
    );
  }
  const text = search.toLowerCase();
  const found = all.filter((one) =>
    [one.name, one.tenant, one.id, ...one.urls].join(' ').toLowerCase().includes(text),
  );
  return (
    <section ref={list}>
      <PageHeading>Destinations</PageHeading>
      <p class="bar">
        <label>
          Search{' '}
          <input
            type="search"
            value={search}
            onInput={(event) => {
              setSearch(event.currentTarget.value);
            }}
          />
        </label>
        <a class="button" href="#/new">
          Add a destination
        </a>
      </p>
      <Table destinations={found} isOperator={isOperator} />
      {found.length === 0 && <p>None of the destinations shown here matches.</p>}
      {cursor !== undefined && (
        <Action
          run={async () => {
            const page = await api.list(cursor);
            setMore({
              destinations: [...(more?.destinations ?? []), ...page.destinations],
              cursor: page.cursor,
            });
          }}
          next={() => list.current?.querySelectorAll<HTMLElement>('td a')[found.length]}
        >
          Show more
        </Action>
      )}
    </section>
  );
}

interface TableProps {
  destinations: readonly DestinationDetails[];
  isOperator: boolean;
}

/** The styles do not lay this out as a table: browsers cannot skip the drawing of table rows that are out of sight. */
function Table({ destinations, isOperator }: TableProps): JSX.Element {
  const list = useRowHeight<HTMLTableElement>();
  const titles = ['Destination', ...(isOperator ? ['Tenant'] : []), 'Status', 'Changed'];
  return (
    <table ref={list} class="rows" role="table">
      <thead role="rowgroup">
        <tr role="row">
          {titles.map((title) => (
            <th key={title} scope="col" role="columnheader">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {destinations.map((one) => (
          <Row key={one.id} destination={one} isOperator={isOperator} />
        ))}
      </tbody>
    </table>
  );
}

/** Rendered once, however often the list is searched. */
function Row({
  destination,
  isOperator,
}: {
  destination: DestinationDetails;
  isOperator: boolean;
}): JSX.Element {
  return useMemo(
    () => (
      <tr class="row" role="row">
        <td role="cell">
          <a href={`#/destinations/${encodeURIComponent(destination.id)}`}>{titleOf(destination)}</a>
        </td>
        {isOperator && <td role="cell">{destination.tenant ?? 'all'}</td>}
        <td role="cell">
          <Status destination={destination} />
        </td>
        <td role="cell">
          {destination.readOnly
            ? 'in code only'
            : destination.updatedAt > 0 && <Time at={destination.updatedAt} />}
        </td>
      </tr>
    ),
    [destination, isOperator],
  );
}

/** Matches a visible character. */
const VISIBLE = /[^\p{Z}\p{C}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Fields that `Status` shows. */
type WithStatus = Pick<DestinationDetails, 'enabled'> & { disabledReason?: string | undefined };
/** Fields that `titleOf` chooses from. */
type WithTitle = Pick<DestinationDetails, 'id'> & { name?: string | undefined; urls: readonly string[] };

/**
 * Returns the name of a destination or, if the name has no visible character, the first URL: nobody would find a link
 * without visible text. A destination that is configured in code may have neither: then this is its id.
 */
export function titleOf({ id, name = '', urls }: WithTitle): string {
  return VISIBLE.test(name) ? name : (urls[0] ?? id);
}

/** Whether a destination gets events, and why not. */
export function Status({ destination }: { destination: WithStatus }): JSX.Element {
  const { enabled, disabledReason } = destination;
  if (enabled) return <span class="good">Enabled</span>;
  return <span class="bad">Disabled{disabledReason === undefined ? '' : `: ${disabledReason}`}</span>;
}
