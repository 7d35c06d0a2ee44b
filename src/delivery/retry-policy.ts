/** When a batch was first tried, and for how long it may be. */
export interface RetryWindow {
  /** When the first attempt began, or it was first put off, in milliseconds since the epoch. */
  firstAttemptAt: number;
  /** Milliseconds from then on during which it is retried. */
  retryWindow: number;
}

/** A batch's place between its attempts; times in milliseconds since the epoch. */
export interface RetryState extends RetryWindow {
  /** The attempt that just failed, from 1. */
  attempt: number;
  /** When that attempt began. */
  startedAt: number;
  now: number;
  /** What the receiver asked for with `Retry-After`, in milliseconds from now. */
  retryAfter?: number | undefined;
}

/** The first delay is this share of the window: 5 s of 4 hours. */
const FIRST_DELAY_SHARE = 1 / 2_880;
/** The longest delay is this share of the window: 30 minutes of 4 hours. */
const LONGEST_DELAY_SHARE = 1 / 8;
/** The last attempt is placed this share of the window before its end: a second of 4 hours. */
const LAST_ATTEMPT_SHARE = 1 / 14_400;
/** Delays vary by this share in both directions, so that what failed together is not retried together. */
const JITTER = 0.2;

/** When the last attempt is due: just before the end of the window. An attempt from then on is the last. */
export function lastAttemptAt({ firstAttemptAt, retryWindow }: RetryWindow): number {
  return firstAttemptAt + Math.floor(retryWindow * (1 - LAST_ATTEMPT_SHARE));
}

/**
 * When a batch is tried again, in milliseconds since the epoch; `undefined` when its window is over.
 *
 * The delays double from 1/2880 of the window (5 s of 4 hours) up to an eighth of it (30 minutes), each
 * varied by 20 %: about 17 attempts in 4 hours. `Retry-After` is a floor. The last attempt is placed
 * just before the end of the window and always made, also when the process was away at that moment.
 */
export function nextAttemptAt(state: RetryState, random: () => number = Math.random): number | undefined {
  const { attempt, startedAt, now, retryWindow, retryAfter = 0 } = state;
  const last = lastAttemptAt(state);
  if (startedAt >= last) return undefined;
  const growing = retryWindow * FIRST_DELAY_SHARE * 2 ** (attempt - 1);
  const delay = Math.min(growing, retryWindow * LONGEST_DELAY_SHARE);
  const jittered = Math.ceil(delay * (1 - JITTER + 2 * JITTER * random()));
  return Math.max(Math.min(now + Math.max(jittered, retryAfter), last), now + 1);
}
