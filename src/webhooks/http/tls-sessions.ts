import type { TLSSocket } from 'node:tls';

/** How many receivers' sessions are kept. Each takes about 2 KB outside the heap. */
const MAX_SESSIONS = 500;

/**
 * How long a session may be resumed, in milliseconds. Its certificate is not checked again during that time.
 */
const MAX_AGE = 600_000;

interface Session {
  ticket: Buffer;
  until: number;
}

/**
 * TLS sessions of receivers. The next socket resumes one, which saves both sides most of a handshake. Only
 * sessions of sockets whose certificate was verified are kept.
 */
export class TlsSessions {
  private readonly sessions = new Map<string, Session>();

  /** The session to resume with a receiver, if there is one. */
  find(receiver: string): Buffer | undefined {
    const session = this.sessions.get(receiver);
    if (session === undefined || session.until > performance.now()) return session?.ticket;
    this.sessions.delete(receiver);
    return undefined;
  }

  /**
   * Keeps the newest session of a socket once its certificate is verified, and forgets the one that was offered if the
   * handshake fails: the receiver may never be able to resume it.
   */
  watch(receiver: string, socket: TLSSocket, offered?: Buffer): void {
    let latest: Buffer | undefined;
    const keep = (): void => {
      if (latest !== undefined && socket.authorized) this.keep(receiver, latest);
    };
    // Up to TLS 1.2 a session arrives before the handshake has ended, in TLS 1.3 after it.
    socket.on('session', (session) => {
      latest = session;
      keep();
    });
    const forget = (): void => {
      if (this.sessions.get(receiver)?.ticket === offered) this.sessions.delete(receiver);
    };
    socket.once('close', forget);
    socket.once('secureConnect', () => {
      socket.off('close', forget);
      keep();
    });
  }

  private keep(receiver: string, ticket: Buffer): void {
    const resumed = this.sessions.get(receiver);
    // A renewed ticket of a resumed session does not extend it: the certificate was not shown again.
    this.sessions.delete(receiver);
    this.sessions.set(receiver, { ticket, until: resumed?.until ?? performance.now() + MAX_AGE });
    const [oldest] = this.sessions.keys();
    if (this.sessions.size > MAX_SESSIONS && oldest !== undefined) this.sessions.delete(oldest);
  }
}
