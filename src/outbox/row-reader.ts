import type { AnalyticsClient } from '../client/analytics-client.js';
import type { Route, SourceConnection } from '../client/router.js';
import { TenantThrew } from '../destinations/tenant-threw.js';
import { AnalyticsError } from '../errors/analytics.error.js';
import { thrownAt } from '../shared/thrown-at.js';
import type { DeletionOfUser } from '../client/deletions.js';
import type { LiveCall } from '../live/live-event.js';
import { checkMessage } from '../messages/check-message.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import { isDestinationId } from '../options/destination-id.js';
import type { BacklogCounter } from '../queue/backlog-counter.js';
import { EventLoopTurns } from '../shared/event-loop-turns.js';
import { SpreadLooks } from '../shared/spread-looks.js';
import { within } from '../shared/within.js';
import { LeftRow } from './left-row.js';
import type { Move } from './outbox-jobs.js';
import type { OutboxRow, RowWithoutMessage } from './outbox-store.js';
import { OUTBOX_VERSION } from './outbox-table.js';
import type { OwnRows, ReasonToLeave } from './own-rows.js';
import { Rooms } from './rooms.js';
import { rowConnections } from './row-connections.js';
import { type RowTerms, termsIn } from './row-terms.js';

/**
 * Shortest time until a row is read again if this process does not know it or could not look up its destinations, in
 * milliseconds.
 */
const READ_AGAIN_AFTER = 5_000;
/** Longest time until such a row is read again, in milliseconds. */
const LONGEST_REST = 300_000;
/** Time between two such rows, in milliseconds. Each row is written twice when it is read. */
const REST_INTERVAL = 1;
/** Time after a slow look-up in which rows of that tenant do not wait for another look-up, in milliseconds. */
const LEFT_ALONE = 5_000;
/** Longest wait of rows for their destinations to be looked up, in milliseconds. All other rows wait with them. */
const LOOKUP_PATIENCE = 1_000;

/** Parts of a row that are kept until it is moved. Its message is not: an object takes far more memory than its JSON. */
interface ReadRow extends RowTerms {
  row: RowWithoutMessage;
  /** Deletion in the row that has to be stored, besides reaching destinations; `undefined` for any other row. */
  deletion: DeletionOfUser | undefined;
  /** The call to show; `undefined` if nobody watches, or if it was shown when its destinations were found. */
  call: LiveCall | undefined;
  /** Time at which the row was written, in milliseconds since the epoch. */
  writtenAt: number;
}

/** Decision about a row. `full`: ids of the full destinations, which take the row when they have room. */
export type RowDecision =
  | ({ kind: 'move'; move: Move } & ReadRow)
  /** Some of its destinations are full. */
  | ({ kind: 'move in part'; move: Move; full: string[] } & ReadRow)
  /** All of its destinations are full. */
  | ({ kind: 'wait for room'; full: string[] } & ReadRow)
  /** Its destinations could not be looked up. `delay`: milliseconds until it is read again. */
  | ({
      kind: 'wait';
      delay: number;
      /** Text for the row's `problem`; none if the code that looks up logs the failure. */
      problem?: string;
    } & ReadRow)
  /** This process does not know the row, or its deletion is not stored yet. */
  | {
      kind: 'leave alone';
      row: RowWithoutMessage;
      delay: number;
      /** Text for the row's `problem`; none if this process knows the row. */
      problem?: string;
      isOfOtherApplication?: boolean | undefined;
    }
  /** No destination takes the row. */
  | ({ kind: 'drop' } & ReadRow)
  | { kind: 'set aside'; row: RowWithoutMessage; problem: string };

export interface RowReaderParts {
  client: Pick<AnalyticsClient, 'outgoing' | 'configured' | 'ownerOf' | 'abandon' | 'live' | 'deletions'>;
  backlogs: Pick<BacklogCounter, 'roomFor'>;
  own: Pick<OwnRows, 'reasonToLeave'>;
  /** Milliseconds for which a row that this process does not know is left to other versions of the application. */
  unknownTimeout: number;
}

/** Reads rows, which anyone with access to the table may have written, and decides where they go. */
export class RowReader {
  /** Tenants whose destinations could not be looked up in time. Their rows do not wait again at once. */
  private readonly unanswered = new Set<string>();
  private readonly looks = new SpreadLooks({
    shortest: READ_AGAIN_AFTER,
    longest: LONGEST_REST,
    interval: REST_INTERVAL,
  });
  private readonly turns = new EventLoopTurns();

  constructor(private readonly parts: RowReaderParts) {}

  /** Reads rows one after the other, and waits for all of their destinations at once. */
  async readAll(rows: readonly OutboxRow[]): Promise<RowDecision[]> {
    const decisions: Promise<RowDecision>[] = [];
    // The counter learns of the rows only when all of them are decided.
    const rooms = new Rooms((destination) => this.parts.backlogs.roomFor({ destination }));
    for (const row of rows) {
      if (!this.turns.hasTime) await this.turns.take();
      const decision = Promise.resolve(this.read(row, rooms));
      // It may reject before the last row is read. `Promise.all` handles its error only after that.
      decision.catch(() => undefined);
      decisions.push(decision);
    }
    return Promise.all(decisions);
  }

  /** Not `async`, so that nothing refers to the parsed message while its destinations are looked up. */
  private read({ message: text, ...row }: OutboxRow, rooms: Rooms): RowDecision | Promise<RowDecision> {
    if (row.version !== OUTBOX_VERSION) {
      return this.leftToOthers(row, { problem: `its version is ${row.version}` });
    }
    if (row.destinations?.every(isDestinationId) === false) {
      return { kind: 'set aside', row, problem: 'its `destinations` contain something other than ids' };
    }
    // The database's clock may differ from this process's clock.
    const writtenAt = Math.trunc(Date.now() - row.age);
    try {
      const stored: unknown = JSON.parse(text);
      const terms = termsIn(stored);
      const reason = this.parts.own.reasonToLeave(row, terms, this.isLeftInVain(row));
      if (reason !== undefined) return this.leftToOthers(row, reason);
      return this.routed(row, checkMessage(stored), { ...terms, writtenAt }, rooms);
    } catch (error) {
      return { kind: 'set aside', row, problem: problemIn(error) };
    }
  }

  private leftToOthers(
    row: RowWithoutMessage,
    { problem, isOfOtherApplication }: ReasonToLeave,
  ): RowDecision {
    // A row names destinations once a relay of its application has read it, and may wait long for room at them.
    const isKnownToOthers = isOfOtherApplication === true && row.destinations !== null;
    if (!isKnownToOthers && this.isLeftInVain(row)) return { kind: 'set aside', row, problem };
    const delay = this.rest(problem);
    const note = new LeftRow(row).problem(problem, delay);
    return { kind: 'leave alone', row, delay, problem: note, isOfOtherApplication };
  }

  /** Whether processes that know a row have had enough time to take it. */
  private isLeftInVain(row: RowWithoutMessage): boolean {
    return new LeftRow(row).leftFor >= this.parts.unknownTimeout;
  }

  private routed(
    row: RowWithoutMessage,
    message: AnalyticsMessage,
    terms: Pick<ReadRow, keyof RowTerms | 'writtenAt'>,
    rooms: Rooms,
  ): RowDecision | Promise<RowDecision> {
    const { client } = this.parts;
    const { source, id, due } = row;
    const { tenant, meantFor } = terms;
    const owner = client.ownerOf(message, tenant);
    const deletion = client.deletions.ofUser(message);
    const isShown = row.destinations !== null;
    const call = isShown ? undefined : client.live.toldLater({ source, tenant, message }, owner);
    const read = { row, ...terms, deletion, call };
    if (this.unanswered.has(owner)) return this.waiting(read, owner);
    const { json, bytes, route, tenant: named } = client.outgoing(source, message, tenant);
    const configured = meantFor && client.configured(source, message);
    const move = { row: id, due, messageId: message.messageId, json, bytes, tenant: named };
    const decided = (found: Route): RowDecision => this.decided(read, move, configured, found, rooms);
    if ('connections' in route) return decided(route);
    return this.answer(owner, route).then((found) => {
      if (found instanceof TenantThrew) return this.waitingFor(found, read);
      return found === undefined ? this.waiting(read, owner) : decided(found);
    });
  }

  private waiting(read: ReadRow, owner: string): RowDecision {
    return { kind: 'wait', ...read, delay: this.rest(owner) };
  }

  /** Makes a row wait for another version of the application, or for what the application's function needs. */
  private waitingFor({ message: problem }: TenantThrew, read: ReadRow): RowDecision {
    return { kind: 'wait', ...read, delay: this.rest(problem), problem };
  }

  private decided(
    read: ReadRow,
    move: Omit<Move, 'connections'>,
    configured: readonly SourceConnection[] | undefined,
    found: Route,
    rooms: Rooms,
  ): RowDecision {
    const { row, meantFor, marks } = read;
    const { source, destinations } = row;
    const parts = { source, meantFor, left: destinations, marks, configured };
    const meant = rowConnections({ ...parts, found: found.connections });
    if (meant.length === 0) return { kind: 'drop', ...read };
    const connections = meant.filter(({ destination }) => rooms.take([destination]));
    const full = meant
      .filter((connection) => !connections.includes(connection))
      .map(({ destination }) => destination);
    if (connections.length === 0) return { kind: 'wait for room', ...read, full };
    if (full.length === 0) return { kind: 'move', ...read, move: { ...move, connections } };
    return { kind: 'move in part', ...read, move: { ...move, connections }, full };
  }

  /**
   * Resolves to the route, or to the reason why the row's tenant is not known. Resolves to `undefined` if the look-up
   * fails or takes too long, since it may never end.
   */
  private async answer(owner: string, route: Promise<Route>): Promise<Route | TenantThrew | undefined> {
    try {
      const found = await within(LOOKUP_PATIENCE, route);
      if (found !== undefined) return found;
      this.parts.client.abandon(route);
      this.leaveAlone(owner);
      return undefined;
    } catch (error) {
      // The look-up is tried again. The code that looks up logs the failure.
      return error instanceof TenantThrew ? error : undefined;
    }
  }

  /** Returns the milliseconds until a row is read again: the more rows wait for the same thing, the longer. */
  private rest(awaited: string): number {
    const now = Date.now();
    return this.looks.next(awaited, now) - now;
  }

  private leaveAlone(owner: string): void {
    this.unanswered.add(owner);
    setTimeout(() => this.unanswered.delete(owner), LEFT_ALONE).unref();
  }
}

/** Returns why a message cannot be read, without any of its contents. */
function problemIn(error: unknown): string {
  return error instanceof AnalyticsError ? error.message : `it is not JSON (${thrownAt(error)})`;
}
