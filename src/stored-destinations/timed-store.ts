import { DestinationStoreTimeoutError } from '../errors/destination.errors.js';
import type { DestinationRecord, DestinationStore } from '../options/destination-store.js';
import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import { inTime, STORE_DEADLINE } from './store-deadline.js';

/** Look-ups that were late, and are remembered. */
const MAX_LATE = 1_000;

/**
 * An application's own store with a deadline for each look-up. Those that have missed it are repeated one at a
 * time. If the store has answered nothing meanwhile, it is silent: then one of all others is tried at a time,
 * too, and the rest reject at once. Otherwise they would keep the worker from the messages of all other
 * destinations.
 */
export class TimedStore implements DestinationStore {
  /** Why look-ups were not answered when they were last tried. */
  private readonly late = new Map<string, DestinationStoreTimeoutError>();
  /** Why all others reject at once; `undefined` while the store answers. */
  private silence: DestinationStoreTimeoutError | undefined;
  /** How often it has answered. */
  private answers = 0;
  /** The kinds of which one is on its way alone. */
  private readonly tried = new Set<'late' | 'other'>();

  constructor(
    private readonly store: DestinationStore,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {}

  findByTenant(tenant: string | undefined): Promise<readonly DestinationRecord[]> {
    return this.ask('findByTenant', tenant, async () =>
      (await this.store.findByTenant(tenant)).map((record) => asDeclared(record)),
    );
  }

  findById(id: string): Promise<DestinationRecord | 'deleted' | undefined> {
    return this.ask('findById', id, async () => {
      const found = (await this.store.findById(id)) ?? undefined;
      return found === undefined || found === 'deleted' ? found : asDeclared(found);
    });
  }

  private async ask<T>(
    method: keyof DestinationStore,
    argument: string | undefined,
    lookUp: () => Promise<T>,
  ): Promise<T> {
    const key = `${method} ${argument ?? ''}`;
    const reason = this.late.get(key) ?? this.silence;
    if (reason === undefined) return this.attempt(method, key, lookUp);
    const kind = this.late.has(key) ? 'late' : 'other';
    if (this.tried.has(kind)) throw reason;
    this.tried.add(kind);
    try {
      return await this.attempt(method, key, lookUp);
    } finally {
      this.tried.delete(kind);
    }
  }

  private async attempt<T>(
    method: keyof DestinationStore,
    key: string,
    lookUp: () => Promise<T>,
  ): Promise<T> {
    const { answers } = this;
    const lateError = (): Error => new DestinationStoreTimeoutError(method, STORE_DEADLINE);
    try {
      const found = await inTime(this.clock, STORE_DEADLINE, lookUp, lateError);
      this.answered(key);
      return found;
    } catch (error) {
      // Any other error is an answer too.
      if (!(error instanceof DestinationStoreTimeoutError)) this.answered(key);
      else {
        // Some are never asked for again, and would stay in it for ever.
        if (this.late.size >= MAX_LATE) this.late.clear();
        this.late.set(key, error);
        if (this.answers === answers) this.silence = error;
      }
      throw error;
    }
  }

  private answered(key: string): void {
    this.answers++;
    this.late.delete(key);
    if (this.silence === undefined) return;
    // What was late then was so because of the silence.
    this.silence = undefined;
    this.late.clear();
  }
}

/** Numbers that a database may keep as `bigint`s or as times. */
const NUMBERS = new Set(['createdAt', 'updatedAt', 'failingSince', 'version']);

/**
 * Database libraries tend to give `null` for a row that is not there, and for a column without a value; 0 or 1 where a
 * database has no booleans; and a text, a `bigint` or a `Date` for a number. Not every application's compiler objects to
 * that.
 */
export function asDeclared<T extends DestinationRecord>(record: T): T {
  const fields = Object.entries(record).map(
    ([name, value]: [string, unknown]) => [name, value, declaredValue(name, value)] as const,
  );
  // It may be an object of a class, with fields that are not its own.
  if (fields.every(([, value, declared]) => value === declared)) return record;
  const given = fields.filter(([, value]) => value !== null);
  return Object.fromEntries(given.map(([name, , declared]) => [name, declared])) as unknown as T;
}

function declaredValue(name: string, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (name === 'enabled' && typeof value === 'number') return value !== 0;
  if (!NUMBERS.has(name)) return value;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}
