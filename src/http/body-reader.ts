import type { IncomingMessage } from 'node:http';
import { types } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { JsonObject } from '../messages/message.types.js';
import { describeKind, isJsonObject } from '../messages/value-kind.js';
import { EventLoopTurns } from '../shared/event-loop-turns.js';
import { bodyReadBefore } from './body-read-before.js';
import { hasHungUp } from './connection-of.js';
import { HeldBodies } from './held-bodies.js';
import { JoinedChunks } from './joined-chunks.js';
import { RequestRefusal } from './request-refusal.js';

/** How long a sender has to send a body, in milliseconds. */
const BODY_TIME = 30_000;
/** Milliseconds after which a sender may retry a body that did not fit into memory. */
const BUSY_RETRY = 5_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Rules for the bodies that are accepted. */
export interface BodyRules {
  /** Limit for one body in bytes, both as it arrives and after decompression. */
  maxBytes: number;
  /** Whether a missing body counts as an empty object. @default false */
  isOptional?: boolean;
}

/** A request's body. */
export interface RequestBody {
  fields: JsonObject;
  /** JSON text of the body; empty if it is not known. */
  text: string;
  /** Size of the body after decompression, in bytes. */
  bytes: number;
}

/** Receives the cost of reading a body. */
export interface BodyCost {
  /** Called with the number of bytes whenever more of the body arrives. */
  arrived(bytes: number): void;
  /** Called when the body has arrived, before it is inflated and parsed. May throw to refuse the body. */
  begins(): void;
  /** Called before a compressed body is inflated. May throw to refuse the body. */
  inflates(compressedBytes: number): void;
  /** Called with the size after inflation, before the body is parsed. */
  inflated(bytes: number): void;
}

/**
 * Reads request bodies, and limits the memory for those that have not been read completely. The format is detected
 * from the bytes, not the headers: browsers send JSON as text, and not every client that compresses says so.
 */
export class BodyReader {
  private readonly held = new HeldBodies();
  private readonly turns = new EventLoopTurns();

  constructor(private readonly rules: BodyRules) {}

  /**
   * @param cost receives the cost of reading, even that of a body that is refused
   * @throws {RequestRefusal} for a body that is too large, too late, or not a JSON object
   */
  async read(request: IncomingMessage, cost?: BodyCost): Promise<RequestBody> {
    const { maxBytes, isOptional } = this.rules;
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    const before = bodyReadBefore(request);
    if (before !== undefined && !Buffer.isBuffer(before)) return parsedBefore(before, maxBytes);
    if (before !== undefined) cost?.arrived(before.length);
    const received = before ?? (await this.receive(request, cost));
    if (received.length > maxBytes) throw tooLarge(maxBytes);
    if (received.length === 0 && isOptional === true) return { fields: {}, text: '', bytes: 0 };
    // To parse 500 KB may take 50 ms, and any number of bodies may arrive at once. There must be no `await` between
    // asking for time and using it.
    if (!this.turns.hasTime) await this.turn(received);
    cost?.begins();
    const bytes = isGzip(received) ? inflate(received, maxBytes, cost) : received;
    const text = decode(bytes);
    const fields = parse(text);
    if (isJsonObject(fields)) return { fields, text, bytes: bytes.length };
    throw noObject(fields);
  }

  private receive(request: IncomingMessage, cost: BodyCost | undefined): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks = new JoinedChunks(this.rules.maxBytes);
      /** Stops reading and releases the chunks, because the request outlives its body. */
      const settle = (): Buffer => {
        clearTimeout(timer);
        request.off('data', onData).off('end', onEnd).off('close', onClose);
        this.held.release(giveUp);
        return chunks.take();
      };
      const fail = (error: Error): void => {
        settle();
        request.pause();
        reject(error);
      };
      const onData = (chunk: Buffer): void => {
        cost?.arrived(chunk.length);
        if (chunks.length + chunk.length > this.rules.maxBytes) {
          fail(tooLarge(this.rules.maxBytes));
          return;
        }
        chunks.add(chunk);
        this.held.hold(giveUp, chunks.held);
      };
      const onEnd = (): void => {
        resolve(settle());
      };
      const onClose = (): void => {
        fail(new Error('The sender hung up'));
      };
      const giveUp = (): void => {
        fail(tooBusy());
      };
      this.held.hold(giveUp, 0);
      const timer = setTimeout(() => {
        fail(tooLate());
      }, BODY_TIME).unref();
      if (request.destroyed || hasHungUp(request)) onClose();
      request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
    });
  }

  /** Resolves when a body that has arrived may be read. */
  private turn({ length }: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        reject(tooBusy());
      };
      this.held.hold(giveUp, length);
      void this.turns.take().then(() => {
        this.held.release(giveUp);
        resolve();
      });
    });
  }
}

/** Returns a body that the host has parsed, without its text: digits of large numbers are already lost. */
function parsedBefore(fields: unknown, maxBytes: number): RequestBody {
  if (!isJsonObject(fields)) throw noObject(fields);
  const bytes = bytesOf(fields);
  if (bytes > maxBytes) throw tooLarge(maxBytes);
  return { fields, text: '', bytes };
}

function bytesOf(fields: JsonObject): number {
  try {
    return Buffer.byteLength(JSON.stringify(fields));
  } catch {
    throw new RequestRefusal(400, 'INVALID_BODY', 'The body is nested too deeply.');
  }
}

function noObject(body: unknown): RequestRefusal {
  return new RequestRefusal(400, 'INVALID_BODY', `Expected a JSON object, got ${describeKind(body)}.`);
}

function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/**
 * Inflates on this thread, which takes less time than parsing the result. In libuv's pool, many small
 * requests could all grow to the limit at the same time.
 */
function inflate(bytes: Buffer, maxBytes: number, cost: BodyCost | undefined): Buffer {
  cost?.inflates(bytes.length);
  try {
    const inflated = gunzipSync(bytes, { maxOutputLength: maxBytes });
    cost?.inflated(inflated.length);
    return inflated;
  } catch (error) {
    if (isBeyondLimit(error)) throw tooLarge(maxBytes);
    throw new RequestRefusal(400, 'INVALID_BODY', 'The body looks like gzip but cannot be decompressed.');
  }
}

function isBeyondLimit(error: unknown): boolean {
  return types.isNativeError(error) && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new RequestRefusal(
      400,
      'INVALID_BODY',
      'The body is not valid UTF-8: send JSON, uncompressed or compressed with gzip.',
    );
  }
}

function parse(text: string): unknown {
  if (text === '') throw new RequestRefusal(400, 'INVALID_BODY', 'The body is empty: send a JSON object.');
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message would quote the body.
    throw new RequestRefusal(400, 'INVALID_BODY', 'The body is not valid JSON.');
  }
}

function tooLarge(maxBytes: number): RequestRefusal {
  return new RequestRefusal(
    413,
    'BODY_TOO_LARGE',
    `The body is larger than ${maxBytes} bytes (${maxBytes / 1024} KB), compressed or decompressed: send less at once.`,
  );
}

function tooLate(): RequestRefusal {
  return new RequestRefusal(
    408,
    'BODY_TOO_LATE',
    `The body did not arrive completely within ${BODY_TIME / 1000} seconds: send it again, or send less at once.`,
  );
}

function tooBusy(): RequestRefusal {
  return new RequestRefusal(
    503,
    'TOO_MANY_BODIES',
    'Too many large requests are arriving at the same time: send this again later.',
    BUSY_RETRY,
    true,
  );
}
