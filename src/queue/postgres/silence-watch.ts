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
/** Checks without an answer to anything, after which what the server cannot be asked about is not at work. */
const DOUBT_FOR = 60;

/** The part of a `pg` client that the watch uses. */
export interface WatchedClient extends PgPoolClient {
  /** `false` while a statement is on its way. */
  readyForQuery?: boolean;
  connection?: { stream?: Duplex & { bytesRead?: number } };
  listenerCount(event: string): number;
}

export interface SilenceObserver {
  /** Whether the server is at work for this client; `undefined` where it cannot be asked. Never rejects. */
  isAtWork(client: WatchedClient): Promise<boolean | undefined>;
  /** Called when a statement has run for this many seconds. Its connection works. */
  onSlow(seconds: number): void;
  /** Called when connections were silent for this many seconds and are closed now. */
  onSilent(seconds: number): void;
}

interface Watched {
  /** Checks in a row without an answer to a statement. */
  runsFor: number;
  /** The same, but negative for a while after it proved to be at work. */
  silentFor: number;
  bytesRead: number;
  /** Whether it ever listened. */
  isListener: boolean;
  /** Checks since the connection was last asked or used. */
  idleFor: number;
  /** Whether what is on its way is the question for a sign of life, which waits for no lock. */
  isAsked: boolean;
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
  /** Checks in which something waited and nothing was answered; `Infinity` at first, and after a silence. */
  private unansweredFor = Infinity;

  constructor(private readonly observer: SilenceObserver) {
    this.timer = setInterval(this.look, INTERVAL).unref();
  }

  add(client: WatchedClient): void {
    this.clients.set(client, {
      runsFor: 0,
      silentFor: 0,
      // A pooler greets for a server that is away.
      bytesRead: bytesReadBy(client),
      isListener: false,
      idleFor: 0,
      isAsked: false,
      isTold: false,
    });
  }

  remove(client: WatchedClient): void {
    this.clients.delete(client);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private readonly look = (): void => {
    let suspect: WatchedClient | undefined;
    let isAnyWaiting = false;
    let isAnyAnswered = false;
    for (const [client, watched] of this.clients) {
      const isWaiting = isSilent(client, watched);
      const bytesRead = bytesReadBy(client);
      if (bytesRead !== watched.bytesRead) isAnyAnswered = true;
      watched.bytesRead = bytesRead;
      if (isWaiting) {
        isAnyWaiting = true;
        watched.runsFor++;
        if (++watched.silentFor >= SUSPECT_AFTER) suspect ??= client;
        continue;
      }
      watched.runsFor = 0;
      watched.silentFor = 0;
      watched.isAsked = false;
      watched.isTold = false;
      if (client.readyForQuery === true) this.keepAwake(client, watched);
    }
    if (isAnyAnswered) this.unansweredFor = 0;
    else if (isAnyWaiting) this.unansweredFor++;
    if (suspect !== undefined && !this.isChecking) void this.check(suspect);
  };

  /** Nothing is ever sent on a connection that only listens, so its loss would go unnoticed. */
  private keepAwake(client: WatchedClient, watched: Watched): void {
    watched.isListener ||= client.listenerCount('notification') > 0;
    if (!watched.isListener || ++watched.idleFor < HEARTBEAT) return;
    watched.idleFor = 0;
    watched.isAsked = true;
    // The next checks see the result.
    client.query('SELECT 1').catch(() => undefined);
  }

  private async check(suspect: WatchedClient): Promise<void> {
    this.isChecking = true;
    const answer = await this.observer.isAtWork(suspect);
    this.isChecking = false;
    const watched = this.clients.get(suspect);
    // It may have answered meanwhile, also since the last look, or be gone.
    if (watched === undefined || watched.silentFor < SUSPECT_AFTER || !isSilent(suspect, watched)) return;
    const isAtWork = answer ?? this.isPresumedAtWork();
    if (isAtWork) {
      this.observer.onSlow(watched.runsFor);
      watched.silentFor = -CHECKS_WITHOUT_SUSPICION;
      return;
    }
    this.unansweredFor = Infinity;
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

  /**
   * Whether a statement is taken to be at work that the server cannot be asked about, as where a pooler has no
   * connection to spare. Where the server behind a pooler is away, it answers nobody.
   */
  private isPresumedAtWork(): boolean {
    const watched = [...this.clients.values()];
    const isSignMissing = watched.some(({ isAsked, silentFor }) => isAsked && silentFor >= CLOSE_ALONG_AFTER);
    return this.unansweredFor < DOUBT_FOR && !isSignMissing;
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
