/** When a batch was first tried, and for how long it may be retried. */
export interface RetryWindow {
  /** When the first attempt began or the batch was first put off, in milliseconds since the epoch. */
  firstAttemptAt: number;
  /** Milliseconds from then on during which the batch is retried. */
  retryWindow: number;
}

/** The state of a batch between two attempts. Times are in milliseconds since the epoch. */
export interface RetryState extends RetryWindow {
  /** The attempt that just failed, from 1. */
  attempt: number;
  /** When that attempt began. */
  startedAt: number;
  now: number;
  /** The delay that the receiver asked for with `Retry-After`, in milliseconds from now. */
  retryAfter?: number | undefined;
}

/** The first delay as a share of the window: 5 s of 4 hours. */
const FIRST_DELAY_SHARE = 1 / 2_880;
/** The longest delay as a share of the window: 30 minutes of 4 hours. */
const LONGEST_DELAY_SHARE = 1 / 8;
/** The last attempt comes this share of the window before its end: one second of 4 hours. */
const LAST_ATTEMPT_SHARE = 1 / 14_400;
/**
 * Delays vary by this share in both directions, so that messages that failed together are not retried
 * together.
 */
const JITTER = 0.2;

/**
 * Time after the window during which a last attempt that could not leave this process is repeated: an eighth of the
 * window, and at least a minute.
 */
const UNSENT_SHARE = 1 / 8;
const SHORTEST_UNSENT = 60_000;
/** About how often the last attempt is repeated in that time. */
const UNSENT_ATTEMPTS = 30;

/** Returns when the last attempt is due: just before the end of the window. Any attempt from then on is the last. */
export function lastAttemptAt({ firstAttemptAt, retryWindow }: RetryWindow): number {
  return firstAttemptAt + Math.floor(retryWindow * (1 - LAST_ATTEMPT_SHARE));
}

/**
 * Returns when a batch is tried again, in milliseconds since the epoch, or `undefined` if its window is over. The
 * delays double from 1/2880 of the window (5 s of 4 hours) up to an eighth of it (30 minutes), each varied by 20 %:
 * about 17 attempts in 4 hours. `Retry-After` is a lower bound. The last attempt comes just before the end of the
 * window. It is always made, even if the process was away at that moment. For a last attempt that cannot leave this
 * process, see `unsentAttemptAt`.
 */
export function nextAttemptAt(state: RetryState, random: () => number = Math.random): number | undefined {
  const { attempt, startedAt, now, retryWindow, retryAfter = 0 } = state;
  const last = lastAttemptAt(state);
  if (startedAt >= last) return undefined;
  const growing = retryWindow * FIRST_DELAY_SHARE * 2 ** (attempt - 1);
  const delay = Math.min(growing, retryWindow * LONGEST_DELAY_SHARE);
  return attemptAt(now, Math.max(varied(delay, random), retryAfter), last);
}

/**
 * Returns when a batch whose last attempt could not leave this process is tried again, in milliseconds since the epoch,
 * or `undefined` if its window ended too long ago. `Retry-After` of another of its URLs is a lower bound.
 */
export function unsentAttemptAt(state: RetryState, random: () => number = Math.random): number | undefined {
  const { firstAttemptAt, startedAt, now, retryWindow, retryAfter = 0 } = state;
  const patience = Math.max(retryWindow * UNSENT_SHARE, SHORTEST_UNSENT);
  const last = firstAttemptAt + retryWindow + patience;
  if (startedAt >= last) return undefined;
  return attemptAt(now, Math.max(varied(patience / UNSENT_ATTEMPTS, random), retryAfter), last);
}

function varied(delay: number, random: () => number): number {
  return Math.ceil(delay * (1 - JITTER + 2 * JITTER * random()));
}

function attemptAt(now: number, delay: number, last: number): number {
  return Math.max(Math.min(now + delay, last), now + 1);
}

/** What is known of a batch in the queue. */
export interface WaitingBatch {
  /** `undefined` if the batch was neither tried nor put off before. */
  firstAttemptAt?: number;
  /** When the batch was due, if its last attempt recorded that. */
  notBefore?: number;
  messages: readonly { outcomes: readonly { at: number }[] }[];
}

/**
 * Returns the time that counts as the first attempt of a batch. A long time without a worker does not use up the window:
 * if the window ended more than an eighth of its length before this worker started or went on after a pause, the batch
 * gets the rest of the window that it had when its next attempt was due, and at least an eighth.
 *
 * @param runningSince when this worker started or went on after a pause, in milliseconds since the epoch
 */
export function resumedWindow(
  batch: WaitingBatch,
  { retryWindow }: { retryWindow: number },
  runningSince: number,
  now: number,
): number {
  const { firstAttemptAt = now, notBefore = firstAttemptAt, messages } = batch;
  const share = retryWindow * LONGEST_DELAY_SHARE;
  if (runningSince - lastAttemptAt({ firstAttemptAt, retryWindow }) <= share) return firstAttemptAt;
  const attempts = messages.flatMap(({ outcomes }) => outcomes.map(({ at }) => at));
  const lastSeen = Math.max(notBefore, ...attempts);
  const rest = Math.max(retryWindow - (lastSeen - firstAttemptAt), share);
  return now - (retryWindow - rest);
}
