import type { TLSSocket } from 'node:tls';

/** How many receivers' sessions are kept. Each takes about 2 KB outside the heap. */
const MAX_SESSIONS = 500;

/**
 * How long a session may be resumed, in milliseconds. Its certificate is not checked again during that time.
 */
const MAX_AGE = 600_000;

/** A session that can be resumed. */
export interface TlsSession {
  ticket: Buffer;
  /** Time until which the session may be resumed, by `performance.now()`. */
  until: number;
}

/**
 * TLS sessions of receivers. The next socket resumes a session, which saves both sides most of a handshake. Only
 * sessions of sockets whose certificate was verified are kept.
 */
export class TlsSessions {
  private readonly sessions = new Map<string, TlsSession>();

  /** Returns the session to resume with a receiver, if there is one. */
  find(receiver: string): TlsSession | undefined {
    const session = this.sessions.get(receiver);
    if (session === undefined || session.until > performance.now()) return session;
    this.sessions.delete(receiver);
    return undefined;
  }

  /**
   * Keeps the newest session of a socket once its certificate is verified. Forgets the offered session if the handshake
   * fails: the receiver may never be able to resume it.
   */
  watch(receiver: string, socket: TLSSocket, offered?: TlsSession): void {
    let ticket: Buffer | undefined;
    let until: number | undefined;
    const keep = (): void => {
      if (ticket !== undefined && until !== undefined) this.keep(receiver, { ticket, until });
    };
    // Up to TLS 1.2 a session arrives before the handshake has ended, in TLS 1.3 after it.
    socket.on('session', (latest) => {
      ticket = latest;
      keep();
    });
    const forget = (): void => {
      if (this.sessions.get(receiver) === offered) this.sessions.delete(receiver);
    };
    socket.once('close', forget);
    socket.once('secureConnect', () => {
      socket.off('close', forget);
      if (!socket.authorized) return;
      // A socket that resumes a session was not shown the certificate, so a renewed ticket does not extend it.
      const resumed = socket.isSessionReused() ? offered : undefined;
      until = resumed?.until ?? performance.now() + MAX_AGE;
      keep();
    });
  }

  private keep(receiver: string, session: TlsSession): void {
    if (session.until <= performance.now()) return;
    this.sessions.delete(receiver);
    this.sessions.set(receiver, session);
    const [oldest] = this.sessions.keys();
    if (this.sessions.size > MAX_SESSIONS && oldest !== undefined) this.sessions.delete(oldest);
  }
}
