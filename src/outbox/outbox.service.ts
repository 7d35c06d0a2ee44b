import { OutboxNotConfiguredError } from '../errors/outbox.errors.js';
import type { WhileOpen } from '../shared/application-end.js';
import type { OutboxStatus } from './outbox-store.js';
import type { Outbox } from './outbox.js';

/** What waits in the outbox. */
export class OutboxService {
  constructor(
    private readonly outbox: WhileOpen<Outbox | undefined>,
    private readonly isConfigured: boolean,
  ) {}

  /**
   * Counts the rows of the outbox, over all processes. Where that takes long, it resolves to what was counted up to
   * a minute ago.
   *
   * @throws OutboxNotConfiguredError, AnalyticsClosedError, or the error of a database that cannot be reached
   */
  async status(): Promise<OutboxStatus> {
    const outbox = this.outbox();
    if (outbox === undefined) throw new OutboxNotConfiguredError(this.isConfigured);
    return outbox.status();
  }
}
