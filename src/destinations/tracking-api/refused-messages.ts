/** How an answer begins that lists messages which were not taken, as this module's own API writes it. */
const LIST = '{"success":true,"refused":[';

/**
 * Which messages of a batch an accepted request did not take, by their index.
 *
 * @param excerpt the beginning of the answer: where the list is cut off, all from the last that can be read
 *   count as refused, since a message that is kept in vain can be replayed and one that is lost cannot
 */
export function isRefused(excerpt: string | undefined): (index: number) => boolean {
  if (excerpt?.startsWith(LIST) !== true) return () => false;
  const indexes = Array.from(excerpt.matchAll(/"index":(\d+),/g), (match) => Number(match[1]));
  const isWhole = excerpt.endsWith(']}');
  const unknownFrom = isWhole ? Infinity : (indexes.at(-1) ?? 0);
  const refused = new Set(indexes);
  return (index) => refused.has(index) || index >= unknownFrom;
}
