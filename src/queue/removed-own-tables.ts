import type { LimitedLog } from './limited-log.js';
import { howToRestore, LOOK, ownTablesIn, type RemovedOwnTableError } from './removed-tables.js';

/**
 * How long after a table was missed or found that is told, in milliseconds: whoever removes or restores a schema does so
 * with many, and one line tells of all.
 */
const TELL_AFTER = 1_000;
/** How often missing tables are looked for, in milliseconds: what uses them may not be needed for hours. */
const LOOK_INTERVAL = 10_000;
/** How long the rows of a table may come after it in a restore that is not one transaction, in milliseconds. */
const FILLING = 5 * 60_000;

/** Room that is left for lines about the queue itself, and one of these. */
const ROOM = 3;

/** Returns those of some tables that are there. */
export type FindTables = (tables: readonly string[]) => Promise<readonly string[]>;

/** Writes one line when tables are missing, however often they are needed, and one when they are there again. */
export class RemovedOwnTables {
  /** Those that are missing, by their names. */
  private readonly tables = new Set<string>();
  /** Those that were missing, and of which no line says so: the code of PostgreSQL. */
  private readonly untold = new Map<string, string>();
  /** Those of which a line says that they are missing, and none that they are there again. */
  private readonly told = new Set<string>();
  private readonly listeners: ((tables: readonly string[]) => void)[] = [];
  /** Those whose rows may still come. */
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

  /** With their schemas. */
  get names(): string[] {
    return [...this.tables];
  }

  /** While tables are missing, looks for them. */
  findBy(find: FindTables): void {
    this.find = find;
  }

  /**
   * @param listener called with tables that are there again, and ever more rarely while their rows may still come. It must
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

  /** A statement was answered. */
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
      // Ever more rarely, since all that was remembered has to be looked up again.
      this.notifyAt = now + 2 * (now - (this.fillingUntil - FILLING));
      this.notify();
    }
    // Where the server is away, the next look finds them.
    if (this.tables.size > 0) this.found((await this.find?.(this.names).catch(() => undefined)) ?? []);
    this.looking = undefined;
    this.lookLater();
  }

  private tellIn(wait: number): void {
    if (!this.isClosed) this.telling ??= setTimeout(this.tell, wait).unref();
  }

  /** Tells of a table that was found soon as well: a process may have made it, without what was in it. */
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
      `${this.subject(tables)} ${are} missing (${codes}): ${howToRestore(it)}. What needs ${it} fails or waits ` +
        'meanwhile. Everything else goes on.',
    );
  }

  private tellBack(tables: readonly string[]): void {
    for (const table of tables) this.told.delete(table);
    const rest =
      tables.length === 1
        ? 'is there again; if a process that started, or first needed it, has made it meanwhile, it is empty'
        : 'are there again; those that a process has made meanwhile, as it started or first needed them, are empty';
    this.lines.log(`${this.subject(tables)} ${rest}.`);
  }

  private subject(tables: readonly string[]): string {
    const names = tables.map((table) => `\`${table}\``);
    const last = names.pop() ?? '';
    const list = names.length === 0 ? `table ${last}` : `tables ${names.join(', ')} and ${last}`;
    return `The ${list} of the queue on ${this.place}`;
  }
}
