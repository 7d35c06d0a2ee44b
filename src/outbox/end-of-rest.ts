/** How long a look at the table rests, as a multiple of how long it took: so it takes at most a tenth of the time. */
const REST = 9;
/** The longest rest, in milliseconds: a look may have taken long because of an outage. */
const LONGEST_REST = 60_000;

/** Returns the time until which a look that ends now has to rest. All times are by the monotonic clock. */
export function endOfRest(startedAt: number): number {
  const now = performance.now();
  return now + Math.min(REST * (now - startedAt), LONGEST_REST);
}
