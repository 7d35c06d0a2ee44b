import type { AttemptSummary, DeliveryResult, Destination } from '../destinations/destination.js';
import type { QueuedMessage } from '../queue/batch-job.js';
import type { EndpointObserver } from '../webhooks/endpoint-state.js';
import type { WebhookClient } from '../webhooks/http/webhook-client.js';
import { WebhooksDestination, type WebhooksDestinationOptions } from '../webhooks/webhooks-destination.js';
import type { DestinationDirectory } from './destination-directory.js';

/** A destination that may change while messages wait for it. */
export class LiveDestination extends WebhooksDestination {
  /** `stale` from a change until this process knows the changed destination. */
  state: 'enabled' | 'disabled' | 'stale' = 'enabled';

  /**
   * @param observeAttempt called after each attempt
   * @param changes asked for changes before messages are sent
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

  /** While messages are held back nobody looks up their destination, so its changes are followed here. */
  override heldBack(...question: Parameters<Destination['heldBack']>): number {
    const wait = super.heldBack(...question);
    if (wait > 0) this.changes.use();
    return wait;
  }

  /** Sends messages. If the destination has changed since they were taken, they go back to the queue instead. */
  override deliver(...attempt: Parameters<Destination['deliver']>): void {
    // A job may take long, and nobody looks up its destination until the next job.
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
   * Reads the changes that were not followed while nothing was sent. Without a change, messages are sent and do not go
   * back to the queue: they may have waited for a `rateLimit`, and would have to wait again each time.
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
