/** The result of a request: a response, or an error. */
export type WebhookResponse = {
  /** When it began, in milliseconds since the epoch: after the wait for a connection slot. */
  at: number;
  /** Milliseconds from then on. */
  duration: number;
} & (
  | { status: number; retryAfter: string | undefined; body: Buffer; error?: undefined }
  | { error: Error; status?: undefined }
);

/** Called once; with `undefined` if the request was ended without a response. */
export type SettleRequest = (response: WebhookResponse | undefined) => void;

/**
 * The first value of a header of a response.
 *
 * @param name in lower case
 * @param headers alternating names and values, as received
 */
export function responseHeader(name: string, headers: readonly Buffer[]): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    const [key, value] = [headers[index], headers[index + 1]];
    // Most names can be told apart by their length alone.
    if (key?.length !== name.length) continue;
    if (key.toString('latin1').toLowerCase() === name) return value?.toString('latin1');
  }
  return undefined;
}

/** RFC 9110, section 5.6.7: all three date formats begin with the day's name. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? \S/;

/**
 * Reads a `Retry-After` header: seconds, or a date.
 *
 * @param now milliseconds since the epoch
 * @returns milliseconds to wait from `now`, 0 for a moment that has passed, `undefined` for none or nonsense
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^-?\d+$/.test(text)) return clamp(Number(text) * 1000);
  if (!HTTP_DATE.test(text)) return undefined;
  // The asctime form has no time zone and would be read as local time.
  const date = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(date) ? undefined : clamp(date - now);
}

function clamp(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, 0), Number.MAX_SAFE_INTEGER);
}

/** How much of a response body is kept for the record, in bytes. */
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
 * The first bytes of a response as text that any store and any log accepts. Bytes that are not UTF-8, and
 * NUL, become U+FFFD (PostgreSQL's jsonb refuses NUL and lone surrogates). Control characters are escaped as
 * in JSON, so that a receiver can neither forge log lines nor control a terminal. The result is again at most
 * 1 KiB of UTF-8.
 */
export function excerptOf(body: Buffer): string {
  const text = body.toString('utf8').replaceAll('\0', '\uFFFD').replace(CONTROLS, escapeControl);
  if (Buffer.byteLength(text) <= EXCERPT_BYTES && body.length < EXCERPT_BYTES) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(EXCERPT_BYTES));
  // The cut may split a character, whose first bytes then read as U+FFFD.
  return text.slice(0, read).replace(/\uFFFD$/, '');
}

function escapeControl(character: string): string {
  return SHORT_ESCAPES.get(character) ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
