import type { AttemptSummary, DeliveryResult, Destination } from '../destinations/destination.js';
import type { QueuedMessage } from '../queue/batch-job.js';
import type { EndpointObserver } from '../webhooks/endpoint-state.js';
import type { WebhookClient } from '../webhooks/http/webhook-client.js';
import { WebhooksDestination, type WebhooksDestinationOptions } from '../webhooks/webhooks-destination.js';
import type { DestinationDirectory } from './destination-directory.js';

/** A destination that may change while messages wait for it. */
export class LiveDestination extends WebhooksDestination {
  /** `stale` until a change of it is known here. */
  state: 'enabled' | 'disabled' | 'stale' = 'enabled';

  /**
   * @param observeAttempt called after each attempt
   * @param changes asked before messages are sent
   */
  constructor(
    options: WebhooksDestinationOptions,
    client: WebhookClient,
    observer: EndpointObserver,
    private readonly observeAttempt: (attempt: AttemptSummary) => void,
    private readonly changes: Pick<DestinationDirectory, 'isFresh' | 'use' | 'refresh'>,
  ) {
    super(options, client, observer);
  }

  attempted(attempt: AttemptSummary): void {
    this.observeAttempt(attempt);
  }

  get isDisabled(): boolean {
    return this.state === 'disabled';
  }

  /** Nobody asks for the destination of what is held back until it is due, but a change of it may come before. */
  override heldBack(...question: Parameters<Destination['heldBack']>): number {
    const wait = super.heldBack(...question);
    if (wait > 0) this.changes.use();
    return wait;
  }

  /** Messages that were in hand before a change go back to the queue, to be looked at again. */
  override deliver(...attempt: Parameters<Destination['deliver']>): void {
    // A job may take long, and nobody asks for its destination until the next one.
    this.changes.use();
    if (this.changes.isFresh) this.deliverNow(...attempt);
    else void this.deliverRefreshed(...attempt);
  }

  private deliverNow(...attempt: Parameters<Destination['deliver']>): void {
    const [messages, , settle] = attempt;
    if (this.state === 'enabled') super.deliver(...attempt);
    else settle(messages.map(deferred));
  }

  /**
   * While nothing was sent, changes were not heard of. If there were none, messages need not go back to the queue: they
   * may have waited for a `rateLimit`, and would have to each time.
   */
  private async deliverRefreshed(...attempt: Parameters<Destination['deliver']>): Promise<void> {
    const [messages, { signal }, settle] = attempt;
    if (await succeeds(this.changes.refresh(), signal)) this.deliverNow(...attempt);
    else settle(messages.map(deferred));
  }
}

function deferred({ outcomes }: QueuedMessage): DeliveryResult {
  return { class: 'deferred', outcomes, wait: 0 };
}

/** Whether work succeeds before a signal is aborted. */
function succeeds(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isDone: boolean): void => {
      signal.removeEventListener('abort', abort);
      resolve(isDone);
    };
    const abort = (): void => {
      end(false);
    };
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    work.then(() => {
      end(true);
    }, abort);
  });
}
