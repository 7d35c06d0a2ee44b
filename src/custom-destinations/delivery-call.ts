import { ReceiverTimeoutError } from '../errors/delivery.errors.js';
import { AnalyticsClosedError } from '../errors/message.errors.js';
import type { DeliveredMessage } from '../options/custom-destination.interface.js';
import type { ResolvedCustomDestination } from '../options/resolve-custom-destinations.js';

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
    let overdue: NodeJS.Immediate | undefined;
    const end = (result: CallEnd): void => {
      clearTimeout(timer);
      clearImmediate(overdue);
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
    // After a stall of the event loop, timers fire before sockets are read: the awaited answer may already be there.
    const timer = setTimeout(() => {
      overdue = setImmediate(onTimeout);
    }, timeout);
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
