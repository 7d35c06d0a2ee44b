import {
  DestinationsReadOnlyError,
  DestinationStoreTimeoutError,
  DestinationWriteTimeoutError,
} from '../errors/destination.errors.js';
import {
  type DestinationPageQuery,
  type DestinationRecord,
  type DestinationStore,
  isWritable,
  type StoredDestination,
  type WritableDestinationStore,
} from '../options/destination-store.js';
import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import type { ChangeNotices } from './change-notices.js';
import { askOwnStore } from './own-store-errors.js';
import { inTime, STORE_DEADLINE } from './store-deadline.js';
import { asDeclared } from './timed-store.js';

export interface WritableDestinationsParts {
  store: DestinationStore;
  /** Whether the store is the application's own. Calls to the queue's database end: its connections are watched. */
  isOwn: boolean;
  notices: Pick<ChangeNotices, 'tell'>;
  /** @default the system's */
  clock?: Clock;
}

/** Id and tenant of a changed destination. */
type Changed = Pick<DestinationRecord, 'id' | 'tenant'>;

/** Lists and writes destinations in a store that has the methods for it, and reports each change. */
export class WritableDestinations {
  constructor(private readonly parts: WritableDestinationsParts) {}

  /** @throws DestinationsReadOnlyError */
  assertWritable(): void {
    if (!isWritable(this.parts.store)) throw new DestinationsReadOnlyError();
  }

  /** @throws DestinationsReadOnlyError, DestinationStoreTimeoutError */
  async list(query: DestinationPageQuery): Promise<readonly StoredDestination[]> {
    const store = this.writable;
    const found = await this.ended(
      () => store.list(query),
      () => new DestinationStoreTimeoutError('list', STORE_DEADLINE),
    );
    return found.map((destination) => asDeclared(destination));
  }

  /** @throws DestinationsReadOnlyError, DestinationWriteTimeoutError */
  async insert(destination: StoredDestination, limit: number): Promise<boolean> {
    return this.write('insert', destination, (store) => store.insert(destination, limit));
  }

  /** @throws DestinationsReadOnlyError, DestinationWriteTimeoutError */
  async replace(destination: StoredDestination): Promise<boolean> {
    return this.write('replace', destination, (store) => store.replace(destination));
  }

  /** @throws DestinationsReadOnlyError, DestinationWriteTimeoutError */
  async remove({ id, tenant }: Changed): Promise<boolean> {
    return this.write('remove', { id, tenant }, (store) => store.remove(id));
  }

  private async write(
    method: 'insert' | 'replace' | 'remove',
    change: Changed,
    work: (store: WritableDestinationStore) => Promise<boolean>,
  ): Promise<boolean> {
    const store = this.writable;
    const made = (async () => work(store))();
    let isMade: boolean;
    try {
      isMade = await this.ended(
        () => made,
        () => new DestinationWriteTimeoutError(method, STORE_DEADLINE),
      );
    } catch (error) {
      // The caller gets the error of the write, and an outage of the queue has a log line of its own.
      this.tellOfDoubt(change, made).catch(() => undefined);
      throw error;
    }
    if (isMade) await this.parts.notices.tell(change);
    return isMade;
  }

  /** Announces a write that failed but may have been made, or that has no answer and may be made later. */
  private async tellOfDoubt(change: Changed, made: Promise<unknown>): Promise<void> {
    const { notices } = this.parts;
    await notices.tell(change);
    await made;
    await notices.tell(change);
  }

  private ended<T>(call: () => Promise<T>, lateError: () => Error): Promise<T> {
    const { isOwn, clock = SYSTEM_CLOCK } = this.parts;
    return isOwn ? inTime(clock, STORE_DEADLINE, () => askOwnStore(call), lateError) : call();
  }

  private get writable(): WritableDestinationStore {
    const { store } = this.parts;
    if (!isWritable(store)) throw new DestinationsReadOnlyError();
    return store;
  }
}
