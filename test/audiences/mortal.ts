import type { AudienceStore } from '../../src/options/audience-store.js';
import type { JobSink } from '../../src/client/sender.js';
import type { LifeOptions } from './audiences-on.js';

/** The moment at which a simulated process dies. */
export interface Death {
  /** Which uses are counted: those of the queue, those of the store's `settle`, or all. */
  of: 'queue' | 'settle' | 'anything';
  /** Number of the last use. */
  at: number;
  /** Whether the last use is carried out, so that only its answer is lost. */
  isDone: boolean;
}

/** Ends a simulated process in the middle of its work, as a kill would: after that, nothing gets through. */
export class Mortal {
  /** Resolves when the process dies. */
  readonly died: Promise<void>;
  isDead = false;
  private readonly locks: (() => Promise<unknown>)[] = [];
  private uses = 0;
  private die: () => void = () => undefined;

  constructor(private readonly death: Death) {
    this.died = new Promise((resolve) => {
      this.die = resolve;
    });
  }

  get options(): Pick<LifeOptions, 'wrapStore' | 'wrapSink'> {
    return {
      wrapSink: (sink: JobSink) => ({ add: (jobs) => this.use('queue', () => sink.add(jobs)) }),
      wrapStore: (store: AudienceStore) => ({
        register: (...args) => this.use('register', () => store.register(...args)),
        find: (...args) => this.use('find', () => store.find(...args)),
        list: () => this.use('list', () => store.list()),
        lock: (trait, kind, token, duration) => {
          this.locks.push(() => store.unlock(trait, kind, token));
          return this.use('lock', () => store.lock(trait, kind, token, duration));
        },
        renew: (...args) => this.use('renew', () => store.renew(...args)),
        unlock: (...args) => this.use('unlock', () => store.unlock(...args)),
        advance: (...args) => this.use('advance', () => store.advance(...args)),
        offer: (...args) => this.use('offer', () => store.offer(...args)),
        withdraw: (...args) => this.use('withdraw', () => store.withdraw(...args)),
        withdrawUnseen: (...args) => this.use('withdrawUnseen', () => store.withdrawUnseen(...args)),
        settle: (...args) => this.use('settle', () => store.settle(...args)),
        members: (...args) => this.use('members', () => store.members(...args)),
        drop: (...args) => this.use('drop', () => store.drop(...args)),
      }),
    };
  }

  /** Releases the locks that the process held, as their expiry would. */
  async expire(): Promise<void> {
    for (const unlock of this.locks) await unlock();
  }

  private async use<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.assertAlive();
    const { of, at, isDone } = this.death;
    const isLast = (of === 'anything' || of === name) && ++this.uses === at;
    if (isLast && isDone) await work();
    if (isLast) {
      this.isDead = true;
      this.die();
    }
    this.assertAlive();
    const result = await work();
    this.assertAlive();
    return result;
  }

  private assertAlive(): void {
    if (this.isDead) throw new Error('dead');
  }
}
