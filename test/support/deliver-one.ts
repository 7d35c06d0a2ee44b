import type { AttemptTerms, DeliveryResult, Destination } from '../../src/destinations/destination.js';
import type { QueuedMessage } from '../../src/queue/batch-job.js';

/** Returns the terms of a first attempt that is not the last. */
export function firstAttempt(signal: AbortSignal = new AbortController().signal): AttemptTerms {
  return { isLast: false, firstAttemptAt: Date.now(), signal };
}

/** Has a destination deliver one message, at an attempt that is not the last. */
export function deliverOne(
  destination: Pick<Destination, 'deliver'>,
  message: QueuedMessage,
  signal?: AbortSignal,
): Promise<DeliveryResult | undefined> {
  return new Promise((resolve) => {
    destination.deliver([message], firstAttempt(signal), ([result]) => {
      resolve(result);
    });
  });
}
