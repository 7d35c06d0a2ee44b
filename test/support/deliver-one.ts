import type { DeliveryResult, Destination, QueuedMessage } from '../../src/destinations/destination.js';

/** Has a destination deliver one message, at an attempt that is not the last. */
export async function deliverOne(
  destination: Pick<Destination, 'deliver'>,
  message: QueuedMessage,
  signal: AbortSignal = new AbortController().signal,
): Promise<DeliveryResult | undefined> {
  const [result] = await destination.deliver([message], {
    isLast: false,
    signal,
    onSettled: () => undefined,
  });
  return result;
}
