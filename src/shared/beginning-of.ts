/**
 * The beginning of a text, to be kept for long. A slice would hold all of the text in memory, so this is a copy where
 * something is cut off. A surrogate without its other half becomes U+FFFD.
 *
 * @param length the largest number of characters
 */
export function beginningOf(text: string, length: number): string {
  return text.length > length ? Buffer.from(text.slice(0, length)).toString() : text.toWellFormed();
}
