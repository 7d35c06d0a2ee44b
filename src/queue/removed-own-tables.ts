import type { LimitedLog } from './limited-log.js';
import { howToRestore, LOOK, ownTablesIn, type RemovedOwnTableError } from './removed-tables.js';

/**
 * Milliseconds from the loss or return of a table to the line about it. A schema is removed or restored with many
 * tables, and one line names all of them.
 */
const TELL_AFTER = 1_000;
/** How often missing tables are looked for, in milliseconds: it may take hours until a statement needs them. */
const LOOK_INTERVAL = 10_000;
/** How long the rows of a table may follow it in a restore that is not one transaction, in milliseconds. */
const FILLING = 5 * 60_000;

/** Lines that have to be free for a report of missing tables: the report, and lines about the queue itself. */
const ROOM = 3;

/** Resolves to those of the given tables that exist. */
export type FindTables = (tables: readonly string[]) => Promise<readonly string[]>;

/** Writes one line when tables are missing, however often they are needed, and one when they are there again. */
export class RemovedOwnTables {
  /** Names of the missing tables. */
  private readonly tables = new Set<string>();
  /** PostgreSQL's code for each table that went missing and is in no line yet. */
  private readonly untold = new Map<string, string>();
  /** Tables that a line has reported as missing, and no line has reported as back. */
  private readonly told = new Set<string>();
  private readonly listeners: ((tables: readonly string[]) => void)[] = [];
  /** Tables that are there again, but whose rows may still come. */
  private readonly filling = new Set<string>();
  private find: FindTables | undefined;
  /** By the monotonic clock. */
  private fillingUntil = -Infinity;
  private notifyAt = Infinity;
  private telling: NodeJS.Timeout | undefined;
  private looking: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(
    private readonly place: string,
    private readonly lines: LimitedLog,
    private readonly now: () => number,
  ) {}

  /** Names of the missing tables, with their schemas. */
  get names(): string[] {
    return [...this.tables];
  }

  /** Sets the function that looks for missing tables. */
  findBy(find: FindTables): void {
    this.find = find;
  }

  /**
   * @param listener called with tables that are there again, and ever more rarely while their rows may still come; must
   *   not throw
   */
  onFound(listener: (tables: readonly string[]) => void): void {
    this.listeners.push(listener);
  }

  add({ table, code }: RemovedOwnTableError): void {
    if (this.tables.has(table)) return;
    this.tables.add(table);
    if (!this.told.has(table)) this.untold.set(table, code);
    this.changed();
  }

  /** Notes that a statement was answered. */
  answered(statement = ''): void {
    if (this.tables.size === 0 || LOOK.test(statement)) return;
    this.found(ownTablesIn(statement));
  }

  /** Neither looks nor writes after this. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.telling);
    clearTimeout(this.looking);
  }

  private found(tables: readonly string[]): void {
    if (this.isClosed) return;
    const missed = tables.filter((table) => this.tables.delete(table));
    if (missed.length === 0) return;
    for (const table of missed) this.filling.add(table);
    this.fillingUntil = this.now() + FILLING;
    this.notifyAt = this.now() + LOOK_INTERVAL;
    this.changed();
    this.notify();
  }

  private notify(): void {
    for (const listener of this.listeners) listener([...this.filling]);
  }

  private changed(): void {
    this.tellIn(TELL_AFTER);
    this.lookLater();
  }

  private lookLater(): void {
    const isFilled = this.now() >= this.fillingUntil;
    if (isFilled) this.filling.clear();
    if (this.isClosed || (this.tables.size === 0 && isFilled)) return;
    this.looking ??= setTimeout(() => void this.look(), LOOK_INTERVAL).unref();
  }

  private async look(): Promise<void> {
    const now = this.now();
    if (now >= this.notifyAt && now < this.fillingUntil) {
      // Ever more rarely, since listeners have to look up again all that they remembered.
      this.notifyAt = now + 2 * (now - (this.fillingUntil - FILLING));
      this.notify();
    }
    // If the server is away, the next look finds them.
    if (this.tables.size > 0) this.found((await this.find?.(this.names).catch(() => undefined)) ?? []);
    this.looking = undefined;
    this.lookLater();
  }

  private tellIn(wait: number): void {
    if (!this.isClosed) this.telling ??= setTimeout(this.tell, wait).unref();
  }

  /** Writes the lines that are due, even for a table that was soon found: a process may have created it empty. */
  private readonly tell = (): void => {
    this.telling = undefined;
    if (this.untold.size > 0) {
      const wait = this.lines.waitFor(ROOM);
      if (wait > 0) this.tellIn(wait);
      else this.tellMissing();
    }
    const back = [...this.told].filter((table) => !this.tables.has(table));
    if (back.length === 0) return;
    const wait = this.lines.waitFor(1);
    if (wait > 0) this.tellIn(wait);
    else this.tellBack(back);
  };

  private tellMissing(): void {
    const tables = [...this.untold.keys()];
    const codes = [...new Set(this.untold.values())].join(', ');
    this.untold.clear();
    for (const table of tables) this.told.add(table);
    const [are, it] = tables.length === 1 ? (['is', 'it'] as const) : (['are', 'them'] as const);
    this.lines.warn(
      `${this.subject(tables)} ${are} missing (${codes}): ${howToRestore(it)}. Operations that need ` +
        `${it} fail or wait meanwhile. Everything else goes on.`,
    );
  }

  private tellBack(tables: readonly string[]): void {
    for (const table of tables) this.told.delete(table);
    const rest =
      tables.length === 1
        ? 'is there again; it is empty if a process has created it meanwhile'
        : 'are there again; those that a process has created meanwhile are empty';
    this.lines.log(`${this.subject(tables)} ${rest}.`);
  }

  private subject(tables: readonly string[]): string {
    const names = tables.map((table) => `\`${table}\``);
    const last = names.pop() ?? '';
    const list = names.length === 0 ? `table ${last}` : `tables ${names.join(', ')} and ${last}`;
    return `The ${list} of the queue on ${this.place}`;
  }
}
