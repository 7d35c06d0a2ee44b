import { afterEach, expect, it } from '@jest/globals';
import { PermanentDeliveryError } from '../../src/index.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { ApiServer } from './api-server.js';

describeServersOrEmbedded('messages that failed, in the HTTP API of the destinations,', (backend) => {
  const stage = new Stage();
  let isDown = false;
  afterEach(() => {
    isDown = false;
  });

  const start = (): Promise<ApiServer> =>
    stage.add(ApiServer.start({ platform: 'Express', connection: backend.connection }));

  const receive = (): Promise<Receiver> => stage.receiver({ answer: () => (isDown ? 400 : 200) });

  it('are listed, and those that match are delivered again', async () => {
    const { acme, other, server } = await start();
    const receiver = await receive();
    const headers = { 'X-Key': 'teehee' };
    const id = await acme.create({ urls: [receiver.url()], headers });
    const neighbour = await other.create({ urls: [receiver.url()] });
    isDown = true;
    const analytics = server.analytics.tenant('acme');
    analytics.track({ userId: 'u1', event: 'Lost' });
    analytics.identify({ userId: 'u1' });
    // Messages are listed before their job has failed, but can be replayed only after that.
    await until(async () => (await acme.ok(acme.get(`/${id}/count-failed`))).count === 2 || undefined);
    const messages = (await acme.ok(acme.get(`/${id}/failed`))).messages as { type: string; body: string }[];
    expect(messages.map(({ type }) => type).sort()).toEqual(['identify', 'track']);
    expect(messages[0]).toMatchObject({
      destination: id,
      error: 'DELIVERY_FAILED',
      outcomes: [{ status: 400 }],
    });
    const tracked = await acme.ok(acme.get(`/${id}/failed?type=track&status=400&class=permanent&from=0`));
    expect(tracked.messages).toMatchObject([{ type: 'track', body: expect.stringContaining('Lost') }]);
    const [{ messageId }] = tracked.messages as [{ messageId: string }];
    expect(await acme.ok(acme.get(`/${id}/count-failed`))).toEqual({ count: 2 });
    expect(await acme.ok(acme.get(`/${id}/count-failed?messageIds=${messageId}`))).toEqual({ count: 1 });
    expect(await acme.ok(acme.get(`/${id}/count-failed?messageIds=1`))).toEqual({ count: 0 });
    expect(await acme.ok(acme.get(`/${id}/explain?message=none`))).toEqual({ requests: [] });
    const { requests } = await acme.ok(acme.get(`/${id}/explain?message=${messageId}`));
    expect(requests).toMatchObject([{ method: 'POST', curl: expect.stringContaining('webhook-signature') }]);
    expect(JSON.stringify(requests)).toContain('X-Key: (hidden)');
    expect(JSON.stringify(requests)).not.toContain('teehee');
    expect(await acme.ok(acme.get(`/${id}/failed?limit=1&start=2`))).toEqual({ messages: [] });
    const short = await acme.ok(acme.get(`/${id}/failed?bodies=false&limit=1000`));
    expect(short.messages).toEqual(messages.map((message) => ({ ...message, body: '' })));
    expect(await acme.get(`/${id}/failed?limit=1000`)).toMatchObject({ status: 422 });
    expect(await other.ok(other.get(`/${neighbour}/failed`))).toEqual({ messages: [] });
    expect(await other.ok(other.post(`/${neighbour}/replay`))).toEqual({ replayed: 0 });

    isDown = false;
    expect(await acme.ok(acme.post(`/${id}/replay`, { type: 'track' }))).toEqual({ replayed: 1 });
    await receiver.received(3);
    expect(await acme.ok(acme.post(`/${id}/replay`))).toEqual({ replayed: 1 });
    await receiver.received(4);
  });

  it('are not delivered again while their destination is disabled, and the answer says so', async () => {
    const { acme, server } = await start();
    const receiver = await receive();
    const id = await acme.create({ urls: [receiver.url()] });
    isDown = true;
    server.analytics.tenant('acme').track({ userId: 'u1', event: 'Lost' });
    await until(async () => (await acme.ok(acme.get(`/${id}/count-failed`))).count === 1 || undefined);
    isDown = false;
    await acme.ok(acme.post(`/${id}/disable`));
    const left = { replayed: 0, reason: 'DESTINATION_DISABLED' };
    expect(await acme.ok(acme.post(`/${id}/replay`))).toEqual(left);
    expect(await acme.ok(acme.get(`/${id}/count-failed`))).toEqual({ count: 1 });
    await acme.ok(acme.post(`/${id}/enable`));
    expect(await acme.ok(acme.post(`/${id}/replay`))).toEqual({ replayed: 1 });
    await receiver.received(2);
  });

  it('are found by a status that HTTP does not have', async () => {
    const { acme, server } = await start();
    const receiver = await stage.receiver({ answer: () => 999 });
    const id = await acme.create({ urls: [receiver.url()] });
    server.analytics.tenant('acme').track({ userId: 'u1', event: 'Lost' });
    await until(async () => (await acme.ok(acme.get(`/${id}/count-failed`))).count === 1 || undefined);
    expect(await acme.ok(acme.get(`/${id}/count-failed?status=999`))).toEqual({ count: 1 });
    expect(await acme.ok(acme.get(`/${id}/count-failed?status=998`))).toEqual({ count: 0 });
  });

  it('are explained without the path of a URL that is configured in code, which may be a secret', async () => {
    const receiver = await receive();
    isDown = true;
    const webhooks = [{ id: 'crm', urls: [receiver.url('/teehee?key=teehee')], allowPrivateNetwork: true }];
    const { operator, server } = await stage.add(
      ApiServer.start({ platform: 'Express', connection: backend.connection, webhooks }),
    );
    server.analytics.track({ userId: 'u1', event: 'Lost', messageId: 'm1' });
    const requests = await until(async () => {
      const explained = (await operator.ok(operator.get('/crm/explain?message=m1'))).requests as unknown[];
      return explained.length > 0 ? explained : undefined;
    });
    const { origin } = new URL(receiver.url());
    expect(requests).toMatchObject([{ url: `${origin}/(hidden)`, curl: expect.stringContaining(origin) }]);
    expect(JSON.stringify(requests)).not.toContain('teehee');
  });

  it('are not explained if the destination is code, since that makes no requests', async () => {
    const deliver = (): never => {
      throw new PermanentDeliveryError('refused');
    };
    const { operator, server } = await stage.add(
      ApiServer.start({
        platform: 'Express',
        connection: backend.connection,
        customDestinations: [{ id: 'lake', deliver }],
      }),
    );
    server.analytics.track({ userId: 'u1', event: 'Lost', messageId: 'm1' });
    const answer = await until(async () => {
      const explained = await operator.get('/lake/explain?message=m1');
      return explained.status === 200 ? undefined : explained;
    });
    expect(answer).toMatchObject({ status: 409, body: { error: { code: 'NOT_A_WEBHOOK' } } });
  });

  it('are delivered again by one or several ids, and those of another tenant count as unknown', async () => {
    const { acme, other, server } = await start();
    const receiver = await receive();
    const id = await acme.create({ urls: [receiver.url()] });
    const foreign = await other.create({ urls: [receiver.url()] });
    isDown = true;
    const analytics = server.analytics.tenant('acme');
    const own = ['A', 'B', 'C', 'D'].map((event) => analytics.track({ userId: 'u1', event }));
    const theirs = server.analytics.tenant('other').track({ userId: 'u2', event: 'Foreign' });
    await until(async () => {
      const pages = [
        await acme.ok(acme.get(`/${id}/failed`)),
        await other.ok(other.get(`/${foreign}/failed`)),
      ];
      return pages.flatMap(({ messages }) => messages).length === 5 ? true : undefined;
    });
    const some = [own[0], own[2], theirs].map((one) => `messageIds=${String(one)}`).join('&');
    expect(await acme.ok(acme.get(`/${id}/count-failed?${some}`))).toEqual({ count: 2 });
    expect((await acme.ok(acme.get(`/${id}/failed?${some}`))).messages).toHaveLength(2);
    isDown = false;
    const replay = (messageIds: (string | undefined)[]): Promise<unknown> =>
      acme.ok(acme.post(`/${id}/replay`, { messageIds }));

    expect(await replay(['unknown'])).toEqual({ replayed: 0 });
    expect(await replay([theirs])).toEqual({ replayed: 0 });
    expect(await acme.post(`/${foreign}/replay`, { messageIds: [theirs] })).toMatchObject({ status: 404 });
    expect(await replay([own[1]])).toEqual({ replayed: 1 });
    expect(await replay([own[0], own[1], own[3], theirs, 'unknown'])).toEqual({ replayed: 2 });
    const requests = (await receiver.received(8)).slice(5);
    expect(requests.map(({ headers }) => headers['webhook-id']).sort()).toEqual(
      [own[0], own[1], own[3]].sort(),
    );
    const left = await acme.ok(acme.get(`/${id}/failed`));
    expect(left.messages).toMatchObject([{ messageId: own[2] }]);
    expect(await other.ok(other.get(`/${foreign}/failed`))).toMatchObject({
      messages: [{ messageId: theirs }],
    });
  });

  it('belong to destinations in code as well, which only the operator sees, and nobody can change', async () => {
    const receiver = await receive();
    const { acme, operator, server } = await stage.add(
      ApiServer.start({
        platform: 'Express',
        connection: backend.connection,
        webhooks: {
          urls: [receiver.url('/hooks?key=teehee')],
          headers: { 'X-Team': 'secret' },
          sharedSecret: 'hidden',
          allowPrivateNetwork: true,
        },
        customDestinations: [{ id: 'lake', deliver: () => undefined }],
      }),
    );
    const own = await acme.create();
    const { destinations } = await operator.ok(operator.get('?limit=1'));
    expect(destinations).toMatchObject([
      {
        id: 'webhooks',
        readOnly: true,
        urls: [new URL(receiver.url()).origin],
        headers: ['X-Team'],
        signatures: ['X-Signature'],
      },
      { id: 'lake', name: 'lake', readOnly: true, urls: [] },
      { id: own, readOnly: false },
    ]);
    expect(JSON.stringify(destinations)).not.toMatch(/teehee|secret"|hidden/);
    for (const listed of [await acme.ok(acme.get()), await operator.ok(operator.get('?tenant=acme'))]) {
      expect(listed.destinations).toMatchObject([{ id: own }]);
    }

    expect(await operator.ok(operator.get('/lake'))).toMatchObject({ id: 'lake', readOnly: true });
    const refused = { status: 409, body: { error: { code: 'DESTINATION_CONFIGURED' } } };
    expect(await operator.patch('/webhooks', { name: 'New' })).toMatchObject(refused);
    expect(await operator.delete('/webhooks')).toMatchObject(refused);
    for (const action of ['enable', 'disable', 'rotate-secret']) {
      expect(await operator.post(`/webhooks/${action}`)).toMatchObject(refused);
    }
    for (const path of ['/webhooks', '/webhooks/failed', '/webhooks/recent']) {
      expect(await acme.get(path)).toMatchObject({ status: 404 });
    }

    isDown = true;
    const id = server.analytics.track({ userId: 'u1', event: 'Lost' });
    await until(async () => {
      // The message is listed a moment before its job ends, but can be replayed only after that.
      const { count } = await operator.ok(operator.get('/webhooks/count-failed'));
      return count === 1 ? true : undefined;
    });
    expect(await operator.ok(operator.get('/webhooks/failed'))).toMatchObject({
      messages: [{ messageId: id }],
    });
    isDown = false;
    expect(await operator.ok(operator.post('/webhooks/replay', { messageIds: [id] }))).toEqual({
      replayed: 1,
    });
    await receiver.received(2);
    expect(await operator.ok(operator.post('/webhooks/test'))).toMatchObject({ results: [{ status: 200 }] });
    expect(await operator.post('/lake/test')).toMatchObject({
      status: 409,
      body: { error: { code: 'NOT_A_WEBHOOK' } },
    });
  });
});
