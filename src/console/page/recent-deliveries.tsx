import type { JSX } from 'preact';
import type { RecentDelivery } from '../../deliveries/history/history.types.js';
import { Attempts, STATE_CLASSES } from './attempts.js';
import { hintFor } from './error-hints.js';
import { messageHash } from './message-page.js';
import { Action, Details, Problem, Time } from './parts.js';
import { useRowHeight, useRowsInPlace } from './rows.js';
import type { Loaded } from './use-loaded.js';

interface RecentDeliveriesProps {
  /** Id of the destination. */
  id: string;
  recent: Loaded<{ deliveries: RecentDelivery[] }>;
}

/** The latest deliveries of a destination, each with its attempts. */
export function RecentDeliveries({ id, recent }: RecentDeliveriesProps): JSX.Element {
  const { value, error, reload } = recent;
  const deliveries = useRowsInPlace(value?.deliveries, ({ messageId }) => messageId);
  const list = useRowHeight<HTMLOListElement>();
  return (
    <section>
      <h2>Recent deliveries</h2>
      <Problem error={error} />
      {value?.deliveries.length === 0 && (
        <p>
          Nothing was delivered in the last seven days. Track an event for this destination to see it here.
        </p>
      )}
      <ol ref={list} class="rows" aria-label="Recent deliveries">
        {deliveries.map((delivery) => (
          <Delivery key={delivery.messageId} id={id} delivery={delivery} />
        ))}
      </ol>
      <Action run={reload}>Refresh recent deliveries</Action>
    </section>
  );
}

function Delivery({ id, delivery }: { id: string; delivery: RecentDelivery }): JSX.Element {
  const { messageId, type, event, state, error, at, attempts } = delivery;
  return (
    <li class="row">
      <Details
        summary={
          <>
            <span class={STATE_CLASSES[state]}>{state}</span> <bdi>{event ?? type ?? 'unknown'}</bdi>{' '}
            <Time at={at} />
          </>
        }
      >
        {() => (
          <>
            <p>
              <a href={messageHash(id, messageId)}>
                Message <code>{messageId}</code>
              </a>
            </p>
            {error !== undefined && (
              <p>
                <span class="bad">{error}</span> {hintFor({ error })}
              </p>
            )}
            {attempts.length > 0 && <Attempts attempts={attempts} />}
          </>
        )}
      </Details>
    </li>
  );
}
