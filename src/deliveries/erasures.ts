import type { Deletion } from './deletion-store.js';
import { type DeletedUser, deletedUser, needsOwnStore, type UnfinishedUsers } from './deletion-task.js';
import type { UserMessages } from './user-messages.js';

/**
 * Removes what a part of the module stores about deleted users. Resolves to the users for whom the removal has to be
 * repeated. If it rejects, it has to be repeated for all of them.
 *
 * @param onProgress called whenever a part of the removal is done
 */
export type Erasure = (users: readonly DeletedUser[], onProgress: () => void) => Promise<UnfinishedUsers>;

/** Result of carrying out some deletions. */
export interface Erased {
  /** Number of deletions that this process can complete, now or later. */
  ours: number;
  done: Deletion[];
  unfinished: UnfinishedUsers;
  /** Number of tasks that cannot be read. */
  unreadable: number;
}

/** Removes all that is stored about deleted users: their messages, and what other parts of the module store. */
export class Erasures {
  private readonly others: Erasure[] = [];
  /** Times of the deletions whose messages were removed in the last complete pass, by key. */
  private lastErased: ReadonlyMap<string, number> = new Map();
  /** The same for the current pass. */
  private erased = new Map<string, number>();

  /**
   * @param signal ends a search for messages before it is complete
   * @param onProgress called whenever a part of a removal is done
   * @param hasOwnStore whether audiences are in a store of the application
   */
  constructor(
    private readonly messages: Pick<UserMessages, 'erase'>,
    private readonly signal: AbortSignal,
    private readonly onProgress: () => void,
    private readonly hasOwnStore = false,
  ) {}

  /** Registers another removal that runs together with that of the messages. */
  add(erasure: Erasure): void {
    this.others.push(erasure);
  }

  /**
   * Carries out deletions. Those that only a process with an audience store of the application can complete are carried
   * out as far as possible. Rejects if none of the deletions is known to be done.
   */
  async run(deletions: readonly Deletion[]): Promise<Erased> {
    const tasks = deletions.map(({ task }) => task.split('\n'));
    const users = tasks.map((lines) => lines.flatMap(deletedUser));
    const messages = this.eraseMessages(deletions);
    const others = this.others.map((erasure) => erasure(users.flat(), this.onProgress));
    // All removals end before any of them is tried again.
    await Promise.allSettled([messages, ...others]);
    await messages;
    const unfinished = new Map((await Promise.all(others)).flatMap((left) => [...left]));
    const isOurs = deletions.map(({ task }) => this.hasOwnStore || !needsOwnStore(task));
    return {
      ours: isOurs.filter(Boolean).length,
      done: deletions.filter((_, n) => isOurs[n] === true && !users[n]?.some((user) => unfinished.has(user))),
      unfinished,
      unreadable: tasks.flat().length - users.flat().length,
    };
  }

  /** Ends a pass over all deletions. */
  endLook(): void {
    this.lastErased = this.erased;
    this.erased = new Map();
  }

  /** Removes messages. Skips deletions whose messages the last pass removed while another removal failed. */
  private async eraseMessages(deletions: readonly Deletion[]): Promise<void> {
    const left = deletions.filter(({ key, at }) => this.lastErased.get(key) !== at);
    if (left.length > 0) await this.messages.erase(timesOf(left), this.signal, this.onProgress);
    if (!this.signal.aborted) for (const { key, at } of deletions) this.erased.set(key, at);
  }
}

function timesOf(deletions: readonly Deletion[]): Map<string, number> {
  return new Map(deletions.map(({ key, at }) => [key, at]));
}
