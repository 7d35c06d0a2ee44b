import type { Socket } from 'node:net';

/**
 * How long each part of a request took, in milliseconds to a tenth; they follow one another. A part that did
 * not take place, or did not come to its end, is absent.
 */
export interface RequestPhases {
  /** The name was resolved; absent for an IP address. */
  dns?: number;
  /** The TCP connection was made. */
  connect?: number;
  /** The TLS handshake was done, certificate included. */
  tls?: number;
  /** From the request until the first byte of its response. */
  firstByte?: number;
}

/** Times the phases of one request on a connection of its own. */
export class PhaseTimer {
  readonly phases: RequestPhases = {};
  private last = performance.now();

  /** Times the phases of a socket that has just begun to connect. */
  watch(socket: Socket): void {
    socket.once('lookup', (error: Error | null) => {
      if (error === null) this.end('dns');
    });
    socket.once('connect', () => {
      this.end('connect');
    });
    socket.once('secureConnect', () => {
      this.end('tls');
    });
  }

  /** Ends a phase, and the next one begins. Only its first end counts: a response may be announced before. */
  end(phase: keyof RequestPhases): void {
    const now = performance.now();
    this.phases[phase] ??= Math.round((now - this.last) * 10) / 10;
    this.last = now;
  }
}
