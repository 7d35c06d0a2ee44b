import type { FailedMessage } from '../../deliveries/failed-filter.js';
import type { RecentDelivery } from '../../deliveries/history/history.types.js';

/** Number of deliveries in an answer that may lack others. */
const FULL = 100;
/** Number of known deliveries in a full answer that show that nothing is missing in between. */
const ENOUGH = FULL / 2;
/** Number of messages whose deliveries are remembered. */
const REMEMBERED = 5_000;

/** What the latest deliveries of a destination, read again and again, tell about messages that had failed for good. */
export class TriedAgain {
  /** When each message was tried again, the latest last. */
  private readonly times = new Map<string, number>();
  private latest: readonly RecentDelivery[] | undefined;
  private missed = 0;

  /** Takes the latest deliveries, as often as the page is drawn. @param deliveries `undefined` while not known */
  look(deliveries: readonly RecentDelivery[] | undefined): void {
    if (deliveries === undefined || deliveries === this.latest) return;
    if (this.latest !== undefined && !isConnected(this.latest, deliveries)) this.missed++;
    this.latest = deliveries;
    for (const { messageId, state, at } of deliveries.toReversed()) {
      if (state === 'failed') continue;
      this.times.delete(messageId);
      this.times.set(messageId, at);
    }
    for (const messageId of this.times.keys()) {
      if (this.times.size <= REMEMBERED) break;
      this.times.delete(messageId);
    }
  }

  /** How often more was delivered between two looks than an answer shows. */
  get gaps(): number {
    return this.missed;
  }

  /** Whether a message was seen to be tried again after it had failed for good. */
  readonly includes = ({ messageId, failedAt }: FailedMessage): boolean =>
    (this.times.get(messageId) ?? 0) > failedAt;
}

/** Whether surely no delivery is missing between two answers. Some deliveries are listed seconds late. */
function isConnected(before: readonly RecentDelivery[], now: readonly RecentDelivery[]): boolean {
  if (now.length < FULL) return true;
  const known = new Set(before.map(keyOf));
  return now.filter((one) => known.has(keyOf(one))).length >= ENOUGH;
}

function keyOf({ messageId, at }: RecentDelivery): string {
  return `${at} ${messageId}`;
}
