import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { connectionOf } from './connection-of.js';

/** How long a reader may leave an answer unread, in milliseconds. */
const STALL_TIME = 30_000;
/** Limit for all answers that have not been read, in bytes. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;
/** Limit for the unread answers of one connection: each takes some kilobytes, however short it is. */
const MAX_UNREAD_ANSWERS = 100;

/**
 * Limits the memory and the time that unread answers take. A client can send one request after the other, or a thousand
 * at once, read no answer, and keep its connections open.
 */
export class UnreadAnswers {
  /** Bytes that each unread answer takes, the oldest answer first. */
  private readonly bytesOf = new Map<ServerResponse, number>();
  private bytes = 0;
  /** Unread answers of each connection. */
  private readonly answersOf = new WeakMap<Socket, Set<ServerResponse>>();
  private readonly stallTime: number;
  private readonly maxBytes: number;

  constructor({ stallTime = STALL_TIME, maxBytes = MAX_UNREAD_BYTES } = {}) {
    this.stallTime = stallTime;
    this.maxBytes = maxBytes;
  }

  /** Watches an answer that has been written, until it is read. */
  watch(response: ServerResponse): void {
    const socket = connectionOf(response.req);
    const bytes = response.writableLength;
    // `writableLength` is not a number if the response does not write to a socket.
    if (socket === undefined || !(bytes > 0) || response.destroyed || socket.destroyed) return;
    const answers = this.answersOn(socket);
    answers.add(response);
    this.bytesOf.set(response, bytes);
    this.bytes += bytes;
    response.once('close', () => {
      answers.delete(response);
      this.forget(response);
    });
    // The time restarts with each part that is read.
    response.setTimeout(this.stallTime, () => response.destroy());
    if (answers.size > MAX_UNREAD_ANSWERS) this.giveUp(socket);
    this.makeRoom();
  }

  private answersOn(socket: Socket): Set<ServerResponse> {
    let answers = this.answersOf.get(socket);
    if (answers === undefined) {
      this.answersOf.set(socket, (answers = new Set()));
      // A pipelined answer that waits for earlier ones does not emit `close` when its connection closes.
      socket.once('close', () => {
        this.forgetAll(socket);
      });
    }
    return answers;
  }

  /**
   * Closes the connections with the largest answers, the oldest of equally large ones first, until the others fit. A
   * client that reads gets its answer in time: that answer is newer than those that nobody reads.
   */
  private makeRoom(): void {
    while (this.bytes > this.maxBytes) {
      let largest: ServerResponse | undefined;
      let most = 0;
      for (const [response, bytes] of this.bytesOf) if (bytes > most) [largest, most] = [response, bytes];
      if (largest === undefined) return;
      this.giveUp(largest.req.socket);
    }
  }

  private giveUp(socket: Socket): void {
    socket.destroy();
    this.forgetAll(socket);
  }

  private forgetAll(socket: Socket): void {
    for (const response of this.answersOf.get(socket) ?? []) this.forget(response);
    this.answersOf.delete(socket);
  }

  private forget(response: ServerResponse): void {
    this.bytes -= this.bytesOf.get(response) ?? 0;
    this.bytesOf.delete(response);
  }
}
