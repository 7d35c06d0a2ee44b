import type { Duplex } from 'node:stream';
import type { PgPoolClient } from 'bullmq';

/** How often the connections are checked, in milliseconds. */
const INTERVAL = 1_000;
/** Checks in a row without an answer, after which a connection is suspected. */
const SUSPECT_AFTER = 7;
/** A suspected connection also closes those that answered nothing for this many checks. */
const CLOSE_ALONG_AFTER = 3;
/** Checks between two signs of life that a listening connection is asked for. */
const HEARTBEAT = 3;
/** Checks before a statement that proved to be at work is suspected again. */
const CHECKS_WITHOUT_SUSPICION = 60;

/** The part of a `pg` client that the watch uses. */
export interface WatchedClient extends PgPoolClient {
  /** `false` while a statement is on its way. */
  readyForQuery?: boolean;
  connection?: { stream?: Duplex & { bytesRead?: number } };
  listenerCount(event: string): number;
}

export interface SilenceObserver {
  /** Whether the server is at work for this client. Never rejects. */
  isAtWork(client: WatchedClient): Promise<boolean>;
  /** Called when a statement has run for this many seconds. Its connection works. */
  onSlow(seconds: number): void;
  /** Called when connections were silent for this many seconds and are closed now. */
  onSilent(seconds: number): void;
}

interface Watched {
  /** Checks in a row without an answer to a statement; negative for a while after it proved to be at work. */
  silentFor: number;
  bytesRead: number;
  /** Checks since the connection was last asked or used. */
  idleFor: number;
  /** Whether its statement was on its way when others were found silent: its own silence is no other outage. */
  isTold: boolean;
}

/**
 * Finds connections that accept statements and never answer, which neither `pg` nor TCP notices, and closes
 * them. It counts checks rather than time, since an event loop that stalled says nothing about the
 * connection.
 */
export class SilenceWatch {
  private readonly clients = new Map<WatchedClient, Watched>();
  private readonly timer: NodeJS.Timeout;
  private isChecking = false;

  constructor(private readonly observer: SilenceObserver) {
    this.timer = setInterval(this.look, INTERVAL).unref();
  }

  add(client: WatchedClient): void {
    this.clients.set(client, { silentFor: 0, bytesRead: 0, idleFor: 0, isTold: false });
  }

  remove(client: WatchedClient): void {
    this.clients.delete(client);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private readonly look = (): void => {
    let suspect: WatchedClient | undefined;
    for (const [client, watched] of this.clients) {
      const isWaiting = isSilent(client, watched);
      watched.bytesRead = bytesReadBy(client);
      if (isWaiting) {
        if (++watched.silentFor >= SUSPECT_AFTER) suspect ??= client;
        continue;
      }
      watched.silentFor = 0;
      watched.isTold = false;
      if (client.readyForQuery === true) this.keepAwake(client, watched);
    }
    if (suspect !== undefined && !this.isChecking) void this.check(suspect);
  };

  /** Nothing is ever sent on a connection that only listens, so its loss would go unnoticed. */
  private keepAwake(client: WatchedClient, watched: Watched): void {
    if (client.listenerCount('notification') === 0 || ++watched.idleFor < HEARTBEAT) return;
    watched.idleFor = 0;
    // The next checks see the result.
    client.query('SELECT 1').catch(() => undefined);
  }

  private async check(suspect: WatchedClient): Promise<void> {
    this.isChecking = true;
    const isAtWork = await this.observer.isAtWork(suspect);
    this.isChecking = false;
    const watched = this.clients.get(suspect);
    // It may have answered meanwhile, also since the last look, or be gone.
    if (watched === undefined || watched.silentFor < SUSPECT_AFTER || !isSilent(suspect, watched)) return;
    if (isAtWork) {
      this.observer.onSlow(watched.silentFor);
      watched.silentFor = -CHECKS_WITHOUT_SUSPICION;
      return;
    }
    if (watched.isTold) {
      // Those that are idle now have been used since, or are new.
      suspect.connection?.stream?.destroy();
      return;
    }
    this.observer.onSilent(watched.silentFor);
    for (const [client, other] of this.clients) {
      // Idle connections have most likely been lost as well.
      if (client.readyForQuery === true || other.silentFor >= CLOSE_ALONG_AFTER) {
        client.connection?.stream?.destroy();
      } else {
        other.isTold = true;
      }
    }
  }
}

/** What has come from the server, or from a pooler in between. */
export function bytesReadBy(client: Pick<WatchedClient, 'connection'>): number {
  return client.connection?.stream?.bytesRead ?? 0;
}

/** Whether a statement is on its way, and nothing has come since the last look. */
function isSilent(client: WatchedClient, { bytesRead }: Watched): boolean {
  return client.readyForQuery === false && bytesReadBy(client) === bytesRead;
}
