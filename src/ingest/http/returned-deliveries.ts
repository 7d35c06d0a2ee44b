import type { IncomingHttpHeaders } from 'node:http';
import { RequestRefusal } from '../../http/request-refusal.js';
import { countOf } from '../../shared/count-of.js';
import { USER_AGENT } from '../../webhooks/request/webhook-headers.js';
import { MinuteLog } from './minute-log.js';

/**
 * Refuses webhook deliveries of this module. The body of one is a valid message of the same tenant: if a destination's
 * URL is the tracking API, each delivery would become an event that is delivered to the same destination again.
 */
export class ReturnedDeliveries {
  private readonly log: MinuteLog;

  constructor(logger: { warn(message: string): void }) {
    this.log = new MinuteLog((count) => {
      logger.warn(
        `The tracking API answered ${countOf(count, 'request')} with 403 and took nothing: a webhooks destination has ` +
          'the URL of the tracking API. Its events would be delivered again without end. Remove the URL from the ' +
          'destination. To forward events to another application, use the option `endpoint`.',
      );
    });
  }

  /** @throws {RequestRefusal} if the request is a delivery */
  refuse(headers: IncomingHttpHeaders): void {
    if (!isDelivery(headers)) return;
    this.log.add();
    throw new RequestRefusal(
      403,
      'WEBHOOK_DELIVERY',
      'The tracking API takes no webhook deliveries, since their events would be delivered again without end. Remove ' +
        'this URL from the destination. To forward events to another application, use the option `endpoint`.',
    );
  }

  /** Called when the application has closed. */
  close(): void {
    this.log.close();
  }
}

/**
 * Returns whether the headers are those of a webhook delivery. A destination's own headers can neither set these two nor
 * remove them. An `endpoint` sends the same `User-Agent`, but no `webhook-id`.
 */
function isDelivery(headers: IncomingHttpHeaders): boolean {
  return headers['webhook-id'] !== undefined && headers['user-agent'] === USER_AGENT;
}
