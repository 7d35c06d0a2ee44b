import type { Socket } from 'node:net';
import { errors } from './undici.js';

/** The largest response head that is accepted, and the most that may come before it, in bytes. */
export const MAX_HEAD_BYTES = 16 * 1024;

/**
 * What follows the head (body, chunk sizes, trailers) is read up to this many bytes, so that the socket can
 * be reused.
 */
export const MAX_REST_BYTES = 16 * 1024;

/** How many 1xx responses may come before the answer. */
const MAX_INFORMATIONAL = 20;

const VERSION = Buffer.from('HTTP/1.');
const ANNOUNCEMENT = /^HTTP\/1\.\d 1(?!01)\d\d$/;
const HEAD_END = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);
const [CR, LF, ONE] = Buffer.from('\r\n1');

/** Where the first digit of the status is, and where the status ends. */
const STATUS = 9;
const STATUS_END = 12;

/**
 * Stands between a socket and the HTTP client: replaces the socket's `read()`, and so decides which of the
 * received bytes the client gets to see. Three cases that the client (undici 7) handles badly are
 * handled here instead:
 *
 * - It creates an error for every header past its limit, which takes 150 ms and more for a head of 64 KB.
 *   Here a head is cut off at the limit. So is what follows it, since trailers are headers too.
 * - It treats an unsolicited `100 Continue` as a failure, although the receiver has the message, and passes
 *   any number of other 1xx responses. Here they are counted and removed, except `101`: no request asks to
 *   switch protocols.
 * - It accepts `HTTP/2.0 200` and `HTTP/0.9 200` as answers. Here they are refused.
 *
 * An ordinary response is passed on unchanged in one piece.
 */
export class ResponseReader {
  private readonly readSocket: () => Buffer | null;
  /** Bytes that were received and not yet passed on. */
  private received: Buffer = NOTHING;
  private position: 'start' | 'head' | 'rest' = 'start';
  /** How many bytes were passed on at this position. */
  private passed = 0;
  private informational = 0;
  /** How many bytes before this response were removed. */
  private skipped = 0;

  /**
   * @param onFirstByte called when the first bytes of a response have arrived
   * @param onPause called when everything that has arrived of a response was passed on, and its head has ended
   */
  constructor(
    private readonly socket: Socket,
    private readonly onFirstByte: () => void,
    private readonly onPause: () => void,
  ) {
    this.readSocket = socket.read.bind(socket) as () => Buffer | null;
    socket.read = () => this.read();
  }

  /** Expects the head of a response next, since a request is on its way. */
  expectHead(): void {
    this.enter('start');
    this.informational = 0;
    this.skipped = 0;
  }

  /** Called when the head of the response has ended. */
  endHead(): void {
    this.enter('rest');
  }

  /** Returns the next bytes for the HTTP client; `null` if there are none for now. */
  private read(): Buffer | null {
    while (!this.socket.destroyed) {
      const piece = this.received.length > 0 && this.isPassable() ? this.piece() : undefined;
      if (piece !== undefined) return piece;
      // The socket is read until it is empty. Only then does it announce the next bytes.
      const chunk = this.readSocket();
      if (chunk === null) {
        if (this.position === 'rest') this.onPause();
        return null;
      }
      if (this.position === 'start') {
        this.onFirstByte();
        if (this.isOrdinary(chunk)) {
          this.enter('head');
          this.passed = chunk.length;
          return chunk;
        }
      }
      this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    }
    return null;
  }

  /** Returns whether a chunk is all that has arrived and begins with a head that may pass. Nearly all responses do. */
  private isOrdinary(chunk: Buffer): boolean {
    const isWhole = this.received.length === 0 && chunk.length > STATUS && chunk.length <= MAX_HEAD_BYTES;
    return isWhole && chunk[STATUS] !== ONE && isHttp1(chunk);
  }

  private piece(): Buffer | undefined {
    const { received } = this;
    const room = (this.position === 'head' ? MAX_HEAD_BYTES : MAX_REST_BYTES) - this.passed;
    if (room === 0) {
      this.refuse(
        this.position === 'head'
          ? new errors.HeadersOverflowError()
          : new errors.ResponseExceededMaxSizeError(),
      );
      return undefined;
    }
    const piece = received.length > room ? received.subarray(0, room) : received;
    this.received = received.length > room ? received.subarray(room) : NOTHING;
    this.passed += piece.length;
    return piece;
  }

  /** Returns whether there are bytes for the HTTP client. Blank lines and 1xx responses before them are removed. */
  private isPassable(): boolean {
    while (this.position === 'start') {
      this.skipBlankLines();
      if (this.skipped > MAX_HEAD_BYTES) {
        this.refuse(new errors.HeadersOverflowError());
        return false;
      }
      if (!isHttp1(this.received)) {
        this.refuse(new errors.HTTPParserError('The response is not HTTP/1.x.'));
        return false;
      }
      if (this.received.length <= STATUS) return false;
      if (this.received[STATUS] !== ONE) {
        this.enter('head');
      } else if (this.received.length < STATUS_END) {
        return false;
      } else if (!ANNOUNCEMENT.test(this.received.toString('latin1', 0, STATUS_END))) {
        this.enter('head');
      } else if (!this.skipInformational()) {
        return false;
      }
    }
    return this.received.length > 0;
  }

  /** Some receivers end a body with an extra line break. */
  private skipBlankLines(): void {
    let start = 0;
    while (this.received[start] === CR || this.received[start] === LF) start++;
    if (start > 0) this.skip(start);
  }

  /** Removes a 1xx response, if all of it has arrived. */
  private skipInformational(): boolean {
    const end = this.received.indexOf(HEAD_END);
    if (end === -1) {
      if (this.received.length > MAX_HEAD_BYTES) this.refuse(new errors.HeadersOverflowError());
      return false;
    }
    if (++this.informational > MAX_INFORMATIONAL) {
      this.refuse(new errors.HTTPParserError('More than 20 1xx responses came before the answer.'));
      return false;
    }
    this.skip(end + HEAD_END.length);
    return true;
  }

  private skip(bytes: number): void {
    this.received = this.received.subarray(bytes);
    this.skipped += bytes;
  }

  private enter(position: 'start' | 'head' | 'rest'): void {
    this.position = position;
    this.passed = 0;
  }

  private refuse(error: Error): void {
    this.received = NOTHING;
    this.socket.destroy(error);
  }
}

/** Compares byte by byte, since a call out of JavaScript costs more. */
function isHttp1(received: Buffer): boolean {
  const length = Math.min(received.length, VERSION.length);
  for (let index = 0; index < length; index++) if (received[index] !== VERSION[index]) return false;
  return true;
}
