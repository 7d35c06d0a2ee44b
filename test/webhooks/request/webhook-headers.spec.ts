import { describe, expect, it } from '@jest/globals';
import { WebhookHeaders } from '../../../src/webhooks/request/webhook-headers.js';

const BODY = Buffer.from('{"cool":true}');

describe('the headers of a request', () => {
  it('are those of the application, followed by those of this package', () => {
    expect(new WebhookHeaders({ 'X-Env': 'prod' }, 'abc123').for('m-1', BODY)).toEqual([
      ...['X-Env', 'prod'],
      ...['User-Agent', 'NestAnalytics/1.0'],
      ...['Content-Type', 'application/json'],
      ...['Accept-Encoding', 'identity'],
      ...['webhook-id', 'm-1'],
      ...['X-Signature', '5099cab379b3be52908387457007040cc934ef86'],
    ]);
  });

  it('name the message without a full stop, which is the separator in signatures', () => {
    expect(new WebhookHeaders({}, undefined).for('a.b~c.~2E', BODY)).toContain('a~2Eb~7Ec~2E~7E2E');
  });

  it('contain no signature without a shared secret', () => {
    expect(new WebhookHeaders({}, undefined).for('m-1', BODY)).not.toContain('X-Signature');
  });

  it('are never replaced by headers of the application with the same name', () => {
    const forged = {
      'user-agent': 'forged',
      'CONTENT-TYPE': 'forged',
      'accept-encoding': 'forged',
      'Webhook-Id': 'forged',
      'x-signature': 'forged',
    };
    expect(new WebhookHeaders(forged, 'abc123').for('m-1', BODY)).not.toContain('forged');
  });
});
