import { OutboxNotConfiguredError } from '../errors/outbox.errors.js';
import type { WhileOpen } from '../shared/application-end.js';
import type { OutboxStatus } from './outbox-store.js';
import type { Outbox } from './outbox.js';

/** Reports what waits in the outbox. */
export class OutboxService {
  constructor(
    private readonly outbox: WhileOpen<Outbox | undefined>,
    private readonly isConfigured: boolean,
  ) {}

  /**
   * Counts the rows of the outbox, which all processes share. If counting takes long, resolves to a count that is up
   * to a minute old.
   *
   * @throws OutboxNotConfiguredError, AnalyticsClosedError, or the error of a database that cannot be reached
   */
  async status(): Promise<OutboxStatus> {
    const outbox = this.outbox();
    if (outbox === undefined) throw new OutboxNotConfiguredError(this.isConfigured);
    return outbox.status();
  }
}
