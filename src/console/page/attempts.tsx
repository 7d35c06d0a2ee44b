import type { JSX } from 'preact';
import type { DeliveryAttempt } from '../../deliveries/history/history.types.js';
import { hintFor } from './error-hints.js';
import { Time } from './parts.js';

/** CSS classes of the states of a delivery. */
export const STATE_CLASSES = { delivered: 'good', retrying: 'waiting', failed: 'bad' };

const TITLES = ['Attempt', 'Time', 'URL', 'Result', 'Duration', 'Answer'];

/** The attempts to deliver a message, with what their errors mean. */
export function Attempts({ attempts }: { attempts: readonly DeliveryAttempt[] }): JSX.Element {
  return (
    <div class="scroll" role="region" aria-label="Attempts" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {TITLES.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {attempts.map((one) => (
            <tr key={`${one.url} ${one.attempt} ${one.at}`}>
              <td>{one.attempt}</td>
              <td>
                <Time at={one.at} />
              </td>
              <td>{one.origin ?? one.url}</td>
              <td>
                <span class={one.class === 'delivered' ? 'good' : 'bad'}>{one.status ?? one.error}</span>{' '}
                {hintFor(one)}
              </td>
              <td>{Math.round(one.duration)} ms</td>
              <td>{one.excerpt}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
