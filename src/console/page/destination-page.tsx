import type { JSX, RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { DestinationDetails } from '../../stored-destinations/destinations.types.js';
import type { TestResult } from '../../webhooks/endpoint.js';
import type { Api } from './api.js';
import { sumOf } from './chart-period.js';
import { DestinationFacts } from './destination-facts.js';
import { DestinationForm } from './destination-form.js';
import { titleOf } from './destination-list.js';
import { FailedMessages } from './failed-messages.js';
import { isWithoutHistory, NoHistory } from './no-history.js';
import { PageHeading } from './page-heading.js';
import { Action, ConnectionNotice, NotLoaded, Problem, Secret } from './parts.js';
import { RecentDeliveries } from './recent-deliveries.js';
import { StatsChart } from './stats-chart.js';
import { TestResults } from './test-results.js';
import { useChanges } from './use-changes.js';
import { hasLoaded, useLoaded } from './use-loaded.js';
import { useTicks } from './use-ticks.js';

/** How often failed messages are read again if there is no history that shows new failures, in milliseconds. */
const RENEWAL = 10_000;

/** A destination: its settings, and what becomes of its events. */
export function DestinationPage({
  api,
  id,
  isOperator,
}: {
  api: Api;
  id: string;
  isOperator: boolean;
}): JSX.Element {
  const { version, connection } = useChanges(api, id);
  const loaded = useLoaded((signal) => api.get(id, signal), id, { version });
  const { value: destination, error, reload } = loaded;
  const stats = useLoaded((signal) => api.stats(id, signal), `stats ${id}`, { version });
  const recent = useLoaded((signal) => api.recent(id, signal), `recent ${id}`, { version });
  const hasHistory = !isWithoutHistory(stats);
  const ticks = useTicks(hasHistory ? undefined : RENEWAL);
  const [secret, setSecret] = useState<string>();
  const [results, setResults] = useState<TestResult[]>();
  const [form, setForm] = useState<'none' | 'shown' | 'hidden'>('none');
  const edit = useRef<HTMLButtonElement>(null);
  if (destination === undefined && error !== undefined) return <NotLoaded loaded={loaded} />;
  // Everything appears at once, so that a part that loads later does not push the others down.
  if (destination === undefined || !hasLoaded(stats) || !hasLoaded(recent)) return <p>Loading …</p>;
  const { urls, description, readOnly } = destination;
  const failures = stats.value === undefined ? 0 : sumOf(stats.value.hours, 'failed');
  return (
    <article>
      <p>
        <a href="#/destinations">All destinations</a>
      </p>
      <PageHeading>{titleOf(destination)}</PageHeading>
      {description !== undefined && <p>{description}</p>}
      {readOnly && (
        <p>
          This destination is configured in the application's code, and can only be changed there. Of its
          URLs, only the origins are shown, and of its headers, only the names.
        </p>
      )}
      <DestinationFacts destination={destination} isOperator={isOperator} />
      <p class="bar">
        {urls.length > 0 && (
          <Action
            run={async () => {
              setResults(undefined);
              setResults((await api.sendTest(id)).results);
            }}
          >
            Send a test event
          </Action>
        )}
        {!readOnly && (
          <Changes
            api={api}
            destination={destination}
            edit={edit}
            isEdited={form === 'shown'}
            onEdit={(isEdited) => {
              setForm(isEdited ? 'shown' : 'hidden');
            }}
            onSecret={setSecret}
            reload={reload}
          />
        )}
      </p>
      <Problem error={error} />
      {secret !== undefined && <Secret text={secret} />}
      {results !== undefined && <TestResults results={results} />}
      {/* Hidden, not removed, so that the typed texts stay. */}
      {form !== 'none' && (
        <div hidden={form === 'hidden'}>
          <DestinationForm
            destination={destination}
            isOperator={isOperator}
            save={async (fields, version) => {
              if (Object.keys(fields).length > 0) await api.update(id, { ...fields, version });
              await reload();
              // The form goes away, and the element that has the focus with it.
              edit.current?.focus({ preventScroll: true });
              setForm('none');
            }}
            latest={() => api.get(id)}
          />
        </div>
      )}
      {hasHistory ? (
        <>
          <StatsChart stats={stats} />
          <RecentDeliveries id={id} recent={recent} />
        </>
      ) : (
        <NoHistory isOperator={isOperator} />
      )}
      <FailedMessages
        api={api}
        id={id}
        version={`${destination.version} ${failures} ${ticks}`}
        deliveries={recent.value?.deliveries}
      />
      <ConnectionNotice connection={connection} />
    </article>
  );
}

interface ChangesProps {
  api: Api;
  destination: DestinationDetails;
  /** The button that opens the form. */
  edit: RefObject<HTMLButtonElement | null>;
  isEdited: boolean;
  onEdit: (isEdited: boolean) => void;
  /** Called with a new secret, which is shown once. */
  onSecret: (secret: string) => void;
  reload: () => Promise<void>;
}

/** Buttons that change a destination that is not configured in code. */
function Changes({ api, destination, edit, isEdited, onEdit, onSecret, reload }: ChangesProps): JSX.Element {
  const { id, enabled } = destination;
  return (
    <>
      {enabled ? (
        <Action run={() => api.disable(id).then(reload)}>Disable</Action>
      ) : (
        <Action run={() => api.enable(id).then(reload)}>Enable</Action>
      )}
      <Action
        run={async () => {
          onSecret((await api.rotateSecret(id)).secret);
        }}
        question="Create a new secret? The old one signs as well for one day."
      >
        Rotate the secret
      </Action>
      <button
        ref={edit}
        type="button"
        aria-expanded={isEdited}
        onClick={() => {
          onEdit(!isEdited);
        }}
      >
        Edit
      </button>
      <Action
        run={async () => {
          const page = location.hash;
          await api.remove(id);
          // The reader may have opened another page meanwhile.
          if (location.hash === page) location.hash = '#/destinations';
        }}
        question="Delete this destination? Messages that wait for it are dropped."
        isFinal
      >
        Delete
      </Action>
    </>
  );
}
