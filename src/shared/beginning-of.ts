/**
 * Returns the beginning of a text that is kept for long. If the text is cut off, the result is a copy, since a slice
 * would hold all of the text in memory. A lone surrogate becomes U+FFFD.
 *
 * @param length the largest number of characters
 */
export function beginningOf(text: string, length: number): string {
  return text.length > length ? Buffer.from(text.slice(0, length)).toString() : text.toWellFormed();
}
