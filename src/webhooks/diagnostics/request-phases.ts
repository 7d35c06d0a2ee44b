import type { Socket } from 'node:net';

/**
 * How long each phase of a request took, in milliseconds with one decimal. The phases follow one another. A
 * phase that did not happen, or did not end, is absent.
 */
export interface RequestPhases {
  /** Until the name was resolved; absent for an IP address. */
  dns?: number;
  /** Until the TCP connection was made. */
  connect?: number;
  /** Until the TLS handshake was done, certificate included. */
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

  /**
   * Ends a phase and begins the next one. Only its first end counts: 1xx responses may come before the real
   * one.
   */
  end(phase: keyof RequestPhases): void {
    const now = performance.now();
    this.phases[phase] ??= Math.round((now - this.last) * 10) / 10;
    this.last = now;
  }
}
