/** How much of a response body is kept for the record, in bytes. */
export const EXCERPT_BYTES = 1024;

/**
 * The first bytes of a response as text that any store takes: bytes that are not UTF-8 and NUL become
 * U+FFFD (PostgreSQL's jsonb refuses NUL and lone surrogates), and it is again at most 1 KiB of UTF-8.
 */
export function excerptOf(body: Buffer): string {
  const text = body.toString('utf8').replaceAll('\0', '\uFFFD');
  if (Buffer.byteLength(text) <= EXCERPT_BYTES && body.length < EXCERPT_BYTES) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(EXCERPT_BYTES));
  // The cut may have fallen into a character, whose first bytes then read as U+FFFD.
  return text.slice(0, read).replace(/\uFFFD$/, '');
}
