import { countOf } from '../shared/count-of.js';
import { TenantThrew } from '../destinations/tenant-threw.js';
import { failureOf } from '../queue/queue-failure.js';
import { thrownAt } from '../shared/thrown-at.js';

/** Logs deletions of users that cannot be completed. */
export class DeletionLog {
  private isUnreadableTold = false;
  private isLeftTold = false;

  constructor(private readonly logger: { warn(message: string): void }) {}

  onFailure(users: number, error: unknown): void {
    const reason =
      error instanceof TenantThrew ? error.message : (failureOf(error)?.reason ?? thrownAt(error));
    this.logger.warn(
      `The deletion of ${countOf(users, 'user')} is not complete yet (${reason}). ` +
        'It is retried until it succeeds. Check the queue, and `audiences.store` and `destinations.tenant` if they are set.',
    );
  }

  /** Logs this only once, since every later pass finds the same deletions. */
  onUnreadable(users: number): void {
    if (users === 0 || this.isUnreadableTold) return;
    this.isUnreadableTold = true;
    this.logger.warn(
      `The deletion of ${countOf(users, 'user')} cannot be read: another version of this package may have stored it. ` +
        'Kept messages are removed anyway. Call `delete` again for users who are in audiences.',
    );
  }

  /** Logs this only once as well. @param users users whose deletion is left to processes with a store of their own */
  onLeft(users: number): void {
    if (users === 0 || this.isLeftTold) return;
    this.isLeftTold = true;
    this.logger.warn(
      `The deletion of ${countOf(users, 'user')} is left to a process that has \`audiences.store\`, like the one that ` +
        'took it: only there are the users removed from audiences. Start one, or give this process the same store.',
    );
  }
}
