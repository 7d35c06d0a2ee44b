import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { DeliveriesService, DestinationNotFoundError, type FailedFilter } from '../../src/index.js';
import { messageIn } from '../support/received-message.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

describe('DeliveriesService', () => {
  const stage = new Stage();

  it('sends a signed test event to each URL of a destination, past the queue, and returns what each URL answered', async () => {
    const receivers = [await stage.receiver(), await stage.receiver({ answer: [503] })];
    const other = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: [
        webhooksTo(receivers, { id: 'crm', sharedSecret: 'teehee' }),
        webhooksTo(other, { id: 'other' }),
      ],
    });
    await app.queue.pause();
    const results = await app.context.get(DeliveriesService).sendTest('crm');

    expect(results).toMatchObject([
      { class: 'delivered', status: 200, origin: new URL(receivers[0]?.url() ?? '').origin },
      { class: 'retry', status: 503, phases: expect.any(Object) },
    ]);
    const [request] = receivers[0]?.requests ?? [];
    expect(request && messageIn(request)).toMatchObject({ type: 'track', event: 'Test Event' });
    expect(request?.headers['x-signature']).toBe(
      createHmac('sha1', 'teehee')
        .update(request?.body ?? '')
        .digest('hex'),
    );
    expect(other.requests).toEqual([]);
  });

  it('explains a failed message byte for byte as it was sent, without sending anything', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { sharedSecret: 'teehee' }),
    });
    const deliveries = app.context.get(DeliveriesService);
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();
    await app.settled();
    const [failed] = await deliveries.failed();
    const [explained, ...more] = failed === undefined ? [] : await deliveries.explain(failed);

    expect(more).toEqual([]);
    expect(receiver.requests).toHaveLength(1);
    expect(explained).toMatchObject({
      method: 'POST',
      url: receiver.url(),
      body: receiver.requests[0]?.body,
      signature: receiver.requests[0]?.headers['x-signature'],
    });
    expect(JSON.stringify(explained)).not.toContain('teehee');
  });

  it('rejects a request about a destination that does not exist', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver) });
    const deliveries = app.context.get(DeliveriesService);
    const message = { destination: 'nowhere', messageId: 'm1', body: '{}' };
    await expect(deliveries.sendTest('nowhere')).rejects.toThrow(DestinationNotFoundError);
    await expect(deliveries.explain(message)).rejects.toThrow(DestinationNotFoundError);
  });

  it.each<[string, object, RegExp]>([
    [
      'a misspelt name',
      { destinaton: 'crm' },
      /^A filter has no `destinaton`\. Did you mean `destination`\?$/,
    ],
    ['an unknown name', { where: 'crm' }, /^A filter has no `where`\. Its options are destination, source, /],
    [
      'a time in words',
      { from: 'yesterday' },
      /^Expected `from` to be a valid Date, .*, got "yesterday" \(string\)$/,
    ],
    ['a time that is none', { to: new Date('yesterday') }, /^Expected `to` to be a valid Date/],
    ['one id instead of a list', { messageIds: 'msg_1' }, /^Expected `messageIds` to be an array of strings/],
    ['a status as a text', { status: '404' }, /^Expected `status` to be an integer, got "404" \(string\)$/],
    ['another class', { class: 'failed' }, /^Expected `class` to be 'retry' or 'permanent'/],
    ['another type', { type: 'click' }, /^Expected `type` to be one of identify, track, /],
    ['null', { source: null }, /^Expected `source` to be a string, got null$/],
  ])('refuses a filter with %s, which would select everything or nothing', async (_, filter, message) => {
    const app = await stage.app({ connection: await newConnection() });
    const deliveries = app.context.get(DeliveriesService);
    const refused = expect.objectContaining({
      code: 'INVALID_FILTER',
      message: expect.stringMatching(message),
    });
    await expect(deliveries.failed(filter)).rejects.toEqual(refused);
    await expect(deliveries.countFailed(filter)).rejects.toEqual(refused);
    await expect(deliveries.replay(filter)).rejects.toEqual(refused);
  });

  it('refuses a history query with a misspelt property, which would not limit it', async () => {
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: { urls: ['https://h.example/'] },
    });
    const deliveries = app.context.get(DeliveriesService);
    const query = { destination: 'default', tennant: 'acme' };
    await expect(deliveries.recent(query)).rejects.toThrow(
      'A filter has no `tennant`. Did you mean `tenant`?',
    );
    await expect(deliveries.stats(query)).rejects.toThrow(
      'A filter has no `tennant`. Did you mean `tenant`?',
    );
    await expect(deliveries.totals({ from: new Date('yesterday') })).rejects.toThrow('a valid Date');
  });

  it.each([1_000, 101, 0, -5, 2.5, NaN, '20'])(
    'refuses %p as the number of recent deliveries, which may be 1 to 100',
    async (limit) => {
      const app = await stage.app({
        connection: await newConnection(),
        webhooks: { id: 'crm', urls: ['https://h.example/'] },
      });
      const deliveries = app.context.get(DeliveriesService);
      const query = { destination: 'crm', limit: limit as number };
      await expect(deliveries.recent(query)).rejects.toMatchObject({
        code: 'INVALID_FILTER',
        message: expect.stringMatching(/^Expected `limit` to be an integer from 1 to 100, got /),
      });
      expect(await deliveries.recent({ ...query, limit: 100 })).toEqual([]);
    },
  );

  it('accepts positions for a list of failed messages, but not for a replay', async () => {
    const app = await stage.app({ connection: await newConnection() });
    const deliveries = app.context.get(DeliveriesService);
    await expect(deliveries.failed({ start: 0, end: Infinity, waiting: false })).resolves.toEqual([]);
    await expect(deliveries.failed({ start: -1 })).rejects.toThrow('Expected `start` to be an integer >= 0');
    await expect(deliveries.replay({ start: 0 } as FailedFilter)).rejects.toThrow('A filter has no `start`');
  });

  it('refuses a replay for an undefined destination or undefined ids, which would replay everything', async () => {
    const app = await stage.app({ connection: await newConnection() });
    const deliveries = app.context.get(DeliveriesService);
    const unset = undefined as unknown as string;
    await expect(deliveries.replay({ destination: unset })).rejects.toThrow('a string, got undefined');
    await expect(deliveries.replay({ messageIds: unset as never })).rejects.toThrow('an array of strings');
    await expect(deliveries.replay({ status: undefined, from: undefined })).resolves.toBe(0);
    await expect(deliveries.failed({ destination: unset })).resolves.toEqual([]);
  });
});
