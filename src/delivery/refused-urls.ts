import type { UrlOutcome } from '../queue/batch-job.js';

/** The part of a message that says what its URLs answered so far. */
interface Answered {
  readonly outcomes: readonly UrlOutcome[];
}

const NONE: readonly string[] = [];

/** Returns the hashes of the URLs that have refused a message for good. The message is not sent to them again. */
export function refusedUrls({ outcomes }: Answered): readonly string[] {
  // Nearly all messages have not been sent yet.
  if (outcomes.length === 0) return NONE;
  return outcomes.filter((outcome) => outcome.class === 'permanent').map(({ url }) => url);
}

/** Returns the hashes of the URLs that have refused each of these messages for good, sorted, to be used as a key. */
export function urlsThatRefusedAll([first, ...others]: readonly Answered[]): string[] {
  if (first === undefined) return [];
  const refused = [...refusedUrls(first)].sort();
  if (refused.length === 0) return refused;
  return others.reduce((left, message) => {
    const own = refusedUrls(message);
    return left.filter((url) => own.includes(url));
  }, refused);
}
