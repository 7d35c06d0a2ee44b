import type { JSX } from 'preact';
import { ApiError } from './api-requests.js';
import type { Loaded } from './use-loaded.js';

/** Whether something could not be loaded because the application keeps no history, which is no fault. */
export function isWithoutHistory({ error }: Loaded<unknown>): boolean {
  return error instanceof ApiError && error.code === 'HISTORY_DISABLED';
}

/** Shown in place of a history. Only the operator is told of the option. */
export function NoHistory({ isOperator }: { isOperator: boolean }): JSX.Element {
  return (
    <section>
      <h2>The last seven days</h2>
      {isOperator ? (
        <p>
          No history is kept: remove <code>history: false</code> to see it here.
        </p>
      ) : (
        <p>No history of deliveries is kept here.</p>
      )}
    </section>
  );
}
