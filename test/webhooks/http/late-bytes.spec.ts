import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { WebhookClient } from '../../../src/webhooks/http/webhook-client.js';
import { webhookErrorCode } from '../../../src/webhooks/http/webhook-error-code.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { MEMORY } from '../../support/memory-connection.js';
import { postWebhook } from '../../support/post-webhook.js';
import type { Answer, ReceivedRequest, Receiver, ReceiverOptions } from '../../support/receiver.js';
import { destinationsBySource, Stage } from '../../support/stage.js';

/**
 * Returns an answer of 204 to each request. After a request to `/late`, a body follows when the next request has
 * arrived on the connection.
 */
function lateBodies(): NonNullable<ReceiverOptions['answer']> {
  const latest = new Map<number, string>();
  return ({ connection, url }: ReceivedRequest): Answer => {
    const isLate = latest.get(connection) === '/late';
    latest.set(connection, url);
    return (response, socket) => {
      if (isLate) socket.write('OK');
      response.writeHead(204).end();
    };
  };
}

/** Returns the connections that carried the requests to a path, in the order of the requests. */
function connectionsOf(receiver: Receiver, path: string): number[] {
  return receiver.requests.filter(({ url }) => url === path).map(({ connection }) => connection);
}

describe('a path whose receiver sends bytes after its answers', () => {
  const stage = new Stage();
  let client: WebhookClient;

  beforeEach(() => {
    client = new WebhookClient({ connections: 2, allowPrivateNetwork: true });
  });

  afterEach(() => client.close());

  /** Posts to paths, one after another. Returns the results, each in one word. */
  async function post(receiver: Receiver, ...paths: string[]): Promise<(number | string)[]> {
    const results: (number | string)[] = [];
    for (const path of paths) {
      const response = await postWebhook(client, receiver.url(path));
      if (response === undefined) results.push('aborted');
      else results.push(response.error === undefined ? response.status : webhookErrorCode(response.error));
    }
    return results;
  }

  it('costs another destination at its origin one request, and no further connections', async () => {
    const receiver = await stage.receiver({ answer: lateBodies() });
    const app = await stage.app({
      connection: MEMORY,
      connections: 1,
      ...destinationsBySource(receiver.urls(['late', 'crm'])),
    });
    await track(app, 'late', 1);
    await track(app, 'crm', 1);
    const [spoilt, again, ...others] = connectionsOf(receiver, '/crm');
    expect([spoilt, again, others]).toEqual([0, 1, []]);
    await track(app, 'crm', 10);
    await track(app, 'late', 5);
    await track(app, 'crm', 10);
    const [crm, late] = [connectionsOf(receiver, '/crm'), connectionsOf(receiver, '/late')];
    expect([new Set(crm.slice(2, 12)).size, new Set(crm.slice(12)).size]).toEqual([1, 1]);
    expect(new Set(late).size).toBe(6);
    // Nothing else was sent again.
    expect([crm.length, late.length]).toEqual([22, 6]);
  });

  it('gets connections of its own as long as there may be more', async () => {
    const receiver = await stage.receiver({ answer: lateBodies() });
    expect(await post(receiver, '/late', '/crm')).toEqual([204, 204]);
    expect(await post(receiver, '/late', '/crm', '/late', '/crm')).toEqual([204, 204, 204, 204]);
    expect(connectionsOf(receiver, '/crm')).toEqual([0, 1, 1, 1]);
    expect(connectionsOf(receiver, '/late')).toEqual([0, 2, 3]);
  });

  it('spoils none of its own answers from the first late bytes on', async () => {
    const receiver = await stage.receiver({ answer: lateBodies() });
    expect(await post(receiver, '/late', '/late', '/late', '/late')).toEqual([204, 204, 204, 204]);
    expect(connectionsOf(receiver, '/late')).toEqual([0, 0, 1, 2, 3]);
  });

  it('is not mistaken for a path whose answers are never HTTP', async () => {
    const receiver = await stage.receiver({
      answer: ({ url }) => (url === '/broken' ? (_response, socket) => void socket.end('OK') : 204),
    });
    expect(await post(receiver, '/crm', '/broken')).toEqual([204, 'INVALID_RESPONSE']);
    expect(connectionsOf(receiver, '/broken')).toEqual([0, 1]);
    expect(await post(receiver, '/crm', '/crm', '/crm')).toEqual([204, 204, 204]);
    expect(connectionsOf(receiver, '/crm')).toEqual([0, 2, 2, 2]);
  });
});

/** Tracks events of a source, and waits until they are delivered. */
async function track(app: AnalyticsApp, source: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) app.analytics.source(source).track({ userId: 'u1', event: 'Paid' });
  await app.analytics.flush();
  await app.settled();
}
