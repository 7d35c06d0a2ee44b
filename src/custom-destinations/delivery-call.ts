import { ReceiverTimeoutError } from '../errors/delivery.errors.js';
import { AnalyticsClosedError } from '../errors/message.errors.js';
import type { DeliveredMessage } from '../options/custom-destination.interface.js';
import type { ResolvedCustomDestination } from '../options/resolve-custom-destinations.js';
import { SYSTEM_CLOCK } from '../shared/clock.js';

/** How a call of the application's `deliver` ended. */
export type CallEnd =
  | { kind: 'returned'; value: unknown }
  | { kind: 'threw'; error: unknown }
  | { kind: 'timedOut' }
  /** The process shut down before the call ended. */
  | { kind: 'brokenOff' };

/**
 * Calls the application's `deliver`, and waits for it until its timeout is over or the process shuts down. Whatever the
 * call does after that is ignored.
 */
export function callDeliver(
  { deliver, timeout }: Pick<ResolvedCustomDestination, 'deliver' | 'timeout'>,
  messages: readonly DeliveredMessage[],
  attempt: number,
  shutdown: AbortSignal,
): Promise<CallEnd> {
  if (shutdown.aborted) return Promise.resolve({ kind: 'brokenOff' });
  const controller = new AbortController();
  return new Promise((resolve) => {
    const end = (result: CallEnd): void => {
      timer.cancel();
      shutdown.removeEventListener('abort', onShutdown);
      resolve(result);
    };
    const onShutdown = (): void => {
      end({ kind: 'brokenOff' });
      controller.abort(new AnalyticsClosedError());
    };
    const onTimeout = (): void => {
      end({ kind: 'timedOut' });
      controller.abort(new ReceiverTimeoutError(timeout));
    };
    const timer = SYSTEM_CLOCK.after(timeout, onTimeout);
    shutdown.addEventListener('abort', onShutdown, { once: true });
    void run(() => deliver(messages, { signal: controller.signal, attempt })).then(end);
  });
}

async function run(call: () => unknown): Promise<CallEnd> {
  try {
    return { kind: 'returned', value: await call() };
  } catch (error) {
    return { kind: 'threw', error };
  }
}
