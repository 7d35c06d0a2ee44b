import type { Duplex } from 'node:stream';
import type { PgPoolClient } from 'bullmq';

/** How often the connections are checked, in milliseconds. */
const INTERVAL = 1_000;
/** Checks in a row without an answer, after which a connection is suspected. */
const SUSPECT_AFTER = 7;
/** Checks without an answer, after which a connection is closed along with a silent one. */
const CLOSE_ALONG_AFTER = 3;
/** Checks between two test queries on an idle connection that listens. */
const HEARTBEAT = 3;
/** Checks before a statement that proved to be at work is suspected again. */
const CHECKS_WITHOUT_SUSPICION = 60;
/** Checks without any answer, after which a statement is not presumed at work if the server cannot be asked. */
const DOUBT_FOR = 60;

/** The part of a `pg` client that the watch uses. */
export interface WatchedClient extends PgPoolClient {
  /** `false` while a statement is on its way. */
  readyForQuery?: boolean;
  connection?: { stream?: Duplex & { bytesRead?: number } };
  listenerCount(event: string): number;
}

export interface SilenceObserver {
  /** Resolves to whether the server is at work for this client; `undefined` if it cannot be asked. Never rejects. */
  isAtWork(client: WatchedClient): Promise<boolean | undefined>;
  /** Called when a statement has run for this many seconds. Its connection works. */
  onSlow(seconds: number): void;
  /** Called when connections were silent for this many seconds and are closed now. */
  onSilent(seconds: number): void;
}

interface Watched {
  /** Checks in a row without an answer to a statement. */
  runsFor: number;
  /** Like `runsFor`, but negative for a while after the statement proved to be at work. */
  silentFor: number;
  bytesRead: number;
  /** Whether the client ever listened for notifications. */
  isListener: boolean;
  /** Checks in which the listening connection was idle, since its last test query. */
  idleFor: number;
  /** Whether the statement on its way is the test query, which waits for no lock. */
  isAsked: boolean;
  /** Whether its statement was on its way when others were found silent. Its own silence is then no new outage. */
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
  /** Checks since the last answer in which a statement waited; `Infinity` at first, and after a silence. */
  private unansweredFor = Infinity;

  constructor(private readonly observer: SilenceObserver) {
    this.timer = setInterval(this.look, INTERVAL).unref();
  }

  add(client: WatchedClient): void {
    this.clients.set(client, {
      runsFor: 0,
      silentFor: 0,
      // A greeting shows nothing: a pooler also greets while its server is away.
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

  /** Sends a test query on an idle listener. Nothing else is ever sent there, so its loss would go unnoticed. */
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
    // The suspect may have answered meanwhile, also since the last look, or be gone.
    if (watched === undefined || watched.silentFor < SUSPECT_AFTER || !isSilent(suspect, watched)) return;
    const isAtWork = answer ?? this.isPresumedAtWork();
    if (isAtWork) {
      this.observer.onSlow(watched.runsFor);
      watched.silentFor = -CHECKS_WITHOUT_SUSPICION;
      return;
    }
    this.unansweredFor = Infinity;
    if (watched.isTold) {
      // Idle connections stay open: they have been used since the report, or are new.
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
   * Returns whether a statement counts as at work if the server cannot be asked, as when a pooler has no connection to
   * spare. If the server behind a pooler is away, no connection gets an answer.
   */
  private isPresumedAtWork(): boolean {
    const watched = [...this.clients.values()];
    const isSignMissing = watched.some(({ isAsked, silentFor }) => isAsked && silentFor >= CLOSE_ALONG_AFTER);
    return this.unansweredFor < DOUBT_FOR && !isSignMissing;
  }
}

/** Returns the number of bytes that have come from the server, or from a pooler in between. */
export function bytesReadBy(client: Pick<WatchedClient, 'connection'>): number {
  return client.connection?.stream?.bytesRead ?? 0;
}

/** Returns whether a statement is on its way, and nothing has come since the last look. */
function isSilent(client: WatchedClient, { bytesRead }: Watched): boolean {
  return client.readyForQuery === false && bytesReadBy(client) === bytesRead;
}
