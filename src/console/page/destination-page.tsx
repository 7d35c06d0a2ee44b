import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TestResult } from '../../webhooks/endpoint.js';
import type { Api } from './api.js';
import { DestinationForm } from './destination-form.js';
import { Status } from './destination-list.js';
import { FailedMessages } from './failed-messages.js';
import { Action, Problem, Secret, Time } from './parts.js';
import { RecentDeliveries } from './recent-deliveries.js';
import { StatsChart } from './stats-chart.js';
import { TestResults } from './test-results.js';
import { useLoaded } from './use-loaded.js';

/** A destination: what it is, and what becomes of its events. */
export function DestinationPage({
  api,
  id,
  isOperator,
}: {
  api: Api;
  id: string;
  isOperator: boolean;
}): JSX.Element {
  const { value: destination, error, reload } = useLoaded(() => api.get(id), id);
  const [secret, setSecret] = useState<string>();
  const [results, setResults] = useState<TestResult[]>();
  const [isEdited, setEdited] = useState(false);
  if (destination === undefined) return error === undefined ? <p>Loading …</p> : <Problem error={error} />;
  const { name, urls, tenant, createdAt, description } = destination;
  return (
    <article>
      <p>
        <a href="#/destinations">All destinations</a>
      </p>
      <h1>{name ?? urls[0]}</h1>
      {description !== undefined && <p>{description}</p>}
      <dl>
        <dt>Status</dt>
        <dd>
          <Status destination={destination} />
        </dd>
        <dt>URLs</dt>
        <dd>
          {urls.map((url) => (
            <code key={url}>{url}</code>
          ))}
        </dd>
        {isOperator && <dt>Tenant</dt>}
        {isOperator && <dd>{tenant ?? 'all'}</dd>}
        <dt>Events</dt>
        <dd>{destination.events?.join(', ') ?? 'all'}</dd>
        <dt>Signed with</dt>
        <dd>{destination.signatures?.join(', ') ?? 'a secret that cannot be decrypted'}</dd>
        <dt>Created</dt>
        <dd>
          <Time at={createdAt} />
        </dd>
      </dl>
      <p class="bar">
        <Action
          run={async () => {
            setResults((await api.sendTest(id)).results);
          }}
        >
          Send a test event
        </Action>
        {destination.enabled ? (
          <Action run={() => api.disable(id).then(reload)}>Disable</Action>
        ) : (
          <Action run={() => api.enable(id).then(reload)}>Enable</Action>
        )}
        <Action
          run={async () => {
            setSecret((await api.rotateSecret(id)).secret);
          }}
          question="Make a new secret? The old one signs as well for one day."
        >
          Rotate the secret
        </Action>
        <button
          type="button"
          aria-expanded={isEdited}
          onClick={() => {
            setEdited(!isEdited);
          }}
        >
          Edit
        </button>
        <Action
          run={() =>
            api.remove(id).then(() => {
              location.hash = '#/destinations';
            })
          }
          question="Delete this destination? What waits for it is dropped."
        >
          Delete
        </Action>
      </p>
      {secret !== undefined && <Secret text={secret} />}
      {results !== undefined && <TestResults results={results} />}
      {isEdited && (
        <DestinationForm
          destination={destination}
          isOperator={isOperator}
          save={async (fields) => {
            await api.update(id, fields);
            await reload();
            setEdited(false);
          }}
        />
      )}
      <StatsChart api={api} id={id} />
      <RecentDeliveries api={api} id={id} />
      <FailedMessages api={api} id={id} />
    </article>
  );
}
