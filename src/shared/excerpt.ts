/** Most bytes of UTF-8 that are kept of an answer. */
export const EXCERPT_BYTES = 1024;

/**
 * Control characters of ASCII and Latin-1, line and paragraph separators, and characters that change the
 * direction of text.
 */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const SHORT_ESCAPES = new Map([
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\r', '\\r'],
]);

/**
 * Returns the beginning of an answer from a receiver or the application's code, as text that any store and any log
 * accepts. Bytes that are not UTF-8, NUL and lone surrogates become U+FFFD. Control characters are escaped as in JSON,
 * so that nobody can forge log lines or control a terminal. The result is at most 1 KiB of UTF-8.
 *
 * @param answer bytes of UTF-8, or a text
 */
export function excerptOf(answer: Buffer | string): string {
  // A text is copied even if it is short: it may be a slice, which keeps all of a long text in memory.
  const bytes = typeof answer === 'string' ? Buffer.from(answer.slice(0, EXCERPT_BYTES)) : answer;
  // Most answers are a few words of ASCII.
  if (isPlain(bytes)) return bytes.toString('latin1', 0, EXCERPT_BYTES);
  // These replacements make no text shorter.
  const text = storable(bytes.toString('utf8')).replace(CONTROLS, escapeControl);
  if (Buffer.byteLength(text) <= EXCERPT_BYTES && bytes.length < EXCERPT_BYTES) return text;
  const beginning = Buffer.alloc(EXCERPT_BYTES);
  const { written } = new TextEncoder().encodeInto(text, beginning);
  // The cut may split a character, whose first bytes then read as U+FFFD.
  return beginning.toString('utf8', 0, written).replace(/\uFFFD$/, '');
}

/** Whether bytes are printable ASCII, which stays as it is. */
function isPlain(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte < 0x20 || byte > 0x7e) return false;
  return true;
}

/** Returns a text with U+FFFD in place of what PostgreSQL refuses: NUL and, in `jsonb`, lone surrogates. */
export function storable(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Whether any store accepts a text. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function escapeControl(character: string): string {
  return SHORT_ESCAPES.get(character) ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
