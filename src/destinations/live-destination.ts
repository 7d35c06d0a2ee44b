import type { AttemptSummary, AttemptTerms, SettleMessages } from './destination.js';
import type { QueuedMessage } from '../queue/batch-job.js';
import type { EndpointObserver } from '../webhooks/endpoint-state.js';
import type { WebhookClient } from '../webhooks/http/webhook-client.js';
import { WebhooksDestination, type WebhooksDestinationOptions } from '../webhooks/webhooks-destination.js';

/** A destination that may change while messages wait for it. */
export class LiveDestination extends WebhooksDestination {
  /** `stale` until a change of it is known here. */
  state: 'enabled' | 'disabled' | 'stale' = 'enabled';

  /** @param observeAttempt told of each attempt */
  constructor(
    options: WebhooksDestinationOptions,
    client: WebhookClient,
    observer: EndpointObserver,
    private readonly observeAttempt: (attempt: AttemptSummary) => void,
  ) {
    super(options, client, observer);
  }

  attempted(attempt: AttemptSummary): void {
    this.observeAttempt(attempt);
  }

  get isDisabled(): boolean {
    return this.state === 'disabled';
  }

  /** Messages that were in hand before a change go back to the queue, to be looked at again. */
  override deliver(messages: readonly QueuedMessage[], terms: AttemptTerms, settle: SettleMessages): void {
    if (this.state === 'enabled') super.deliver(messages, terms, settle);
    else settle(messages.map(({ outcomes }) => ({ class: 'deferred', outcomes, wait: 0 })));
  }
}
