import { DestinationStoreTimeoutError } from '../errors/destination.errors.js';
import type { DestinationRecord, DestinationStore } from '../options/destination-store.js';
import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import { LookupTries } from './lookup-tries.js';
import { askOwnStore } from './own-store-errors.js';
import { inTime, STORE_DEADLINE } from './store-deadline.js';

/** Maximum number of late look-ups that are remembered. */
const MAX_LATE = 1_000;

/** Maximum number of late look-ups that are repeated at once, for each method. */
const MAX_REPEATED = 4;
/** Maximum number of other look-ups that are tried at once while the store is silent, for each method. */
const MAX_TRIED = 36;

type Method = keyof DestinationStore;

/** Why a look-up was not answered when it was last tried. */
interface Late {
  readonly error: DestinationStoreTimeoutError;
  /** Whether the look-up was tried while the store was silent, and was not late before. */
  readonly isBySilence: boolean;
}

/**
 * An application's own store with a deadline for each look-up. Of the look-ups that have missed their deadline, a few
 * are repeated at a time, and the rest reject at once. If the store has answered nothing meanwhile, it is silent: then
 * only some of all other look-ups are tried at a time, too, and the rest reject at once. Otherwise they would keep the
 * worker from the messages of all other destinations.
 */
export class TimedStore implements DestinationStore {
  /** Late look-ups by key. The one that was tried last comes last. */
  private readonly late = new Map<string, Late>();
  /** Why all other look-ups reject at once; `undefined` while the store answers. */
  private silence: DestinationStoreTimeoutError | undefined;
  /** How often the store has answered. */
  private answers = 0;
  private readonly repeated: Record<Method, LookupTries>;
  private readonly tried: Record<Method, LookupTries>;

  constructor(
    private readonly store: DestinationStore,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    const triesOf = (most: number): Record<Method, LookupTries> => ({
      findByTenant: new LookupTries(most, clock),
      findById: new LookupTries(most, clock),
    });
    this.repeated = triesOf(MAX_REPEATED);
    this.tried = triesOf(MAX_TRIED);
  }

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

  private async ask<T>(method: Method, argument: string | undefined, lookUp: () => Promise<T>): Promise<T> {
    const key = `${method} ${argument ?? ''}`;
    const late = this.late.get(key)?.error;
    const reason = late ?? this.silence;
    if (reason === undefined) return this.attempt(method, key, lookUp);
    const tries = (late === undefined ? this.tried : this.repeated)[method];
    if (!tries.begin(key)) throw reason;
    try {
      return await this.attempt(method, key, lookUp);
    } finally {
      tries.end(key);
    }
  }

  private async attempt<T>(method: Method, key: string, lookUp: () => Promise<T>): Promise<T> {
    const { answers, silence } = this;
    const lateError = (): Error => new DestinationStoreTimeoutError(method, STORE_DEADLINE);
    try {
      const found = await inTime(this.clock, STORE_DEADLINE, () => askOwnStore(lookUp), lateError);
      this.answered(key);
      return found;
    } catch (error) {
      // Any other error is an answer too.
      if (!(error instanceof DestinationStoreTimeoutError)) this.answered(key);
      else {
        const isSilent = this.answers === answers;
        this.remember(key, { error, isBySilence: isSilent && silence !== undefined });
        if (isSilent) this.silence = error;
      }
      throw error;
    }
  }

  private remember(key: string, { error, isBySilence }: Late): void {
    const before = this.late.get(key);
    this.late.delete(key);
    this.late.set(key, { error, isBySilence: before?.isBySilence ?? isBySilence });
    if (this.late.size <= MAX_LATE) return;
    // Some look-ups are never requested again, and would stay in the map for ever.
    const [oldest] = this.late.keys();
    if (oldest !== undefined) this.late.delete(oldest);
  }

  private answered(key: string): void {
    this.answers++;
    this.late.delete(key);
    if (this.silence === undefined) return;
    this.silence = undefined;
    for (const tries of Object.values(this.tried)) tries.clear();
    // Keeps look-ups that were late while the store answered: they would hold up others again.
    for (const [other, { isBySilence }] of this.late) if (isBySilence) this.late.delete(other);
  }
}

/** Text fields for which a database may have numbers. */
const TEXTS = new Set(['id', 'tenant']);
/** Numeric fields that a database may keep as `bigint`s or as times. */
const NUMBERS = new Set(['createdAt', 'updatedAt', 'failingSince', 'version']);

/**
 * Returns a record with the declared types. Database libraries tend to give `null` for a missing row and for a column
 * without a value, 0 or 1 if the database has no booleans, a text, a `bigint` or a `Date` for a number, and a number or
 * a `bigint` for an id. Not every application's compiler objects to that.
 */
export function asDeclared<T extends DestinationRecord>(record: T): T {
  const fields = Object.entries(record).map(
    ([name, value]: [string, unknown]) => [name, value, declaredValue(name, value)] as const,
  );
  // Returned as it is, since it may be an instance of a class with inherited fields.
  if (fields.every(([, value, declared]) => value === declared)) return record;
  const given = fields.filter(([, value]) => value !== null);
  return Object.fromEntries(given.map(([name, , declared]) => [name, declared])) as unknown as T;
}

function declaredValue(name: string, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (name === 'enabled' && typeof value === 'number') return value !== 0;
  if (TEXTS.has(name) && (typeof value === 'number' || typeof value === 'bigint')) return String(value);
  if (!NUMBERS.has(name)) return value;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}
