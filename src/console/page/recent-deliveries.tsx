import type { JSX } from 'preact';
import type { RecentDelivery } from '../../deliveries/history/history.types.js';
import type { Api } from './api.js';
import { Attempts } from './attempts.js';
import { messageHash } from './message-page.js';
import { Action, Problem, Time } from './parts.js';
import { useLoaded } from './use-loaded.js';

const CLASSES = { delivered: 'good', retrying: 'waiting', failed: 'bad' };

/** The latest deliveries of a destination, each with its attempts. */
export function RecentDeliveries({ api, id }: { api: Api; id: string }): JSX.Element {
  const { value, error, reload } = useLoaded(() => api.recent(id), `recent ${id}`);
  return (
    <section>
      <h2>Recent deliveries</h2>
      <Problem error={error} />
      {value?.deliveries.length === 0 && (
        <p>
          Nothing was delivered in the last seven days. Track an event of this destination to see it here.
        </p>
      )}
      {value?.deliveries.map((delivery) => (
        <Delivery key={delivery.messageId} id={id} delivery={delivery} />
      ))}
      <Action run={reload}>Refresh recent deliveries</Action>
    </section>
  );
}

function Delivery({ id, delivery }: { id: string; delivery: RecentDelivery }): JSX.Element {
  const { messageId, type, event, state, error, at, attempts } = delivery;
  return (
    <details>
      <summary>
        <span class={CLASSES[state]}>{state}</span> {event ?? type ?? 'unknown'} <Time at={at} />
      </summary>
      <p>
        <a href={messageHash(id, messageId)}>
          Message <code>{messageId}</code>
        </a>
        {error !== undefined && <span class="problem"> {error}</span>}
      </p>
      <Attempts attempts={attempts} />
    </details>
  );
}
