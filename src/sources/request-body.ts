import type { Readable } from 'node:stream';
import { promisify, types } from 'node:util';
import { gunzip } from 'node:zlib';
import { MAX_BATCH_BYTES } from '../messages/limits.js';
import type { JsonObject } from '../messages/message.types.js';
import { describeKind, isJsonObject } from '../messages/value-kind.js';
import { RequestRefusal } from './request-refusal.js';

const inflate = promisify(gunzip);
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The request as Node has it, before any parser. */
export type RawRequest = Readable & { headers: { 'content-length'?: string | undefined } };

/**
 * Reads the JSON object in a request's body. What it is is told by looking at it, not by its headers:
 * browsers send JSON as text, and not every client that compresses says so.
 *
 * @throws {RequestRefusal} for what is too large or no JSON object
 */
export async function readBody(request: RawRequest): Promise<JsonObject> {
  const bytes = await readBytes(request);
  const text = decode(isGzip(bytes) ? await inflateBytes(bytes) : bytes);
  const value = parse(text);
  if (isJsonObject(value)) return value;
  throw new RequestRefusal(400, 'INVALID_BODY', `Expected a JSON object, got ${describeKind(value)}.`);
}

async function readBytes(request: RawRequest): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BATCH_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  // Left open when the reading ends early, since the answer goes back on the same connection.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    length += chunk.length;
    if (length > MAX_BATCH_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

async function inflateBytes(bytes: Buffer): Promise<Buffer> {
  try {
    return await inflate(bytes, { maxOutputLength: MAX_BATCH_BYTES });
  } catch (error) {
    if (isTooLarge(error)) throw tooLarge();
    throw new RequestRefusal(400, 'INVALID_BODY', 'The body begins as gzip does and cannot be inflated.');
  }
}

function isTooLarge(error: unknown): boolean {
  return types.isNativeError(error) && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new RequestRefusal(
      400,
      'INVALID_BODY',
      'The body is not valid UTF-8: send JSON, as it is or compressed with gzip.',
    );
  }
}

function parse(text: string): unknown {
  if (text === '') throw new RequestRefusal(400, 'INVALID_BODY', 'The body is empty: send a JSON object.');
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own text would quote from the body.
    throw new RequestRefusal(400, 'INVALID_BODY', 'The body is not valid JSON.');
  }
}

function tooLarge(): RequestRefusal {
  return new RequestRefusal(
    413,
    'BODY_TOO_LARGE',
    `The body is larger than ${MAX_BATCH_BYTES} bytes (500 KB), compressed or inflated: send less at once.`,
  );
}
