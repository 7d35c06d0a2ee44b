import { afterEach, expect, it } from '@jest/globals';
import { describeServers, describeServersOrEmbedded } from '../support/describe-backend.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { verifyStandardWebhook } from '../../src/index.js';
import { ApiServer, URLS } from './api-server.js';

describeServersOrEmbedded('the HTTP API of the destinations', (backend) => {
  const stage = new Stage();
  let isDown = false;
  afterEach(() => {
    isDown = false;
  });

  const start = (): Promise<ApiServer> =>
    stage.add(ApiServer.start({ platform: 'Express', connection: backend.connection }));

  const receive = (): Promise<Receiver> => stage.receiver({ answer: () => (isDown ? 400 : 200) });

  it('creates, lists, changes and deletes the destinations of the tenant that is signed in', async () => {
    const { acme } = await start();
    const created = await acme.post('', {
      urls: URLS,
      name: 'Ours',
      headers: { 'X-Team': 'one' },
      metadata: { a: 1 },
    });
    expect(created).toMatchObject({
      status: 201,
      body: { tenant: 'acme', name: 'Ours', headers: ['X-Team'], enabled: true, version: 1 },
    });
    const { id, secret } = created.body as { id: string; secret: string };
    expect(created.headers.get('location')).toBe(`./destinations/${id}`);
    expect(secret).toMatch(/^whsec_/);

    const read = await acme.ok(acme.get(`/${id}`));
    expect(read).toMatchObject({ id, urls: URLS, signatures: ['webhook-signature'], metadata: { a: 1 } });
    expect(JSON.stringify([read, (await acme.get()).body])).not.toContain(secret);

    const changed = await acme.ok(acme.patch(`/${id}`, { version: 1, name: 'New', metadata: null }));
    expect(changed).toMatchObject({ name: 'New', version: 2 });
    expect(changed).not.toHaveProperty('metadata');
    expect(await acme.patch(`/${id}`, { version: 1, name: 'Late' })).toMatchObject({
      status: 409,
      body: { error: { code: 'DESTINATION_CHANGED' } },
    });

    expect(await acme.delete(`/${id}`)).toMatchObject({ status: 204, body: '' });
    expect(await acme.get(`/${id}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'DESTINATION_NOT_FOUND' } },
    });
    expect(await acme.ok(acme.get())).toEqual({ destinations: [] });
  });

  it('lists page by page: its own destinations for a tenant, those of all or of one tenant for the operator', async () => {
    const { acme, other, operator } = await start();
    const own = [await acme.create(), await acme.create(), await acme.create()];
    const foreign = await other.create();
    const shared = await operator.create();
    const idsOf = ({ destinations }: Record<string, unknown>): string[] =>
      (destinations as { id: string }[]).map(({ id }) => id).sort();

    const first = await acme.ok(acme.get('?limit=2'));
    const second = await acme.ok(acme.get(`?limit=2&cursor=${String(first.cursor)}`));
    expect([...idsOf(first), ...idsOf(second)].sort()).toEqual(own.sort());
    expect(second).not.toHaveProperty('cursor');
    expect(idsOf(await other.ok(other.get()))).toEqual([foreign]);
    expect(idsOf(await operator.ok(operator.get()))).toEqual([...own, foreign, shared].sort());
    expect(idsOf(await operator.ok(operator.get('?tenant=other')))).toEqual([foreign]);
    expect(await operator.ok(operator.get(`/${foreign}`))).toMatchObject({ tenant: 'other' });
  });

  it('hides destinations from other tenants, whatever these ask for by an id', async () => {
    const { acme, other } = await start();
    const id = await acme.create();
    const asked = [
      () => other.get(`/${id}`),
      () => other.patch(`/${id}`, { name: 'Mine' }),
      () => other.delete(`/${id}`),
      () => other.post(`/${id}/enable`),
      () => other.post(`/${id}/disable`),
      () => other.post(`/${id}/rotate-secret`),
      () => other.post(`/${id}/test`),
      () => other.get(`/${id}/recent`),
      () => other.get(`/${id}/stats`),
      () => other.get(`/${id}/failed`),
      () => other.post(`/${id}/replay`),
      () => other.get(`/${id}/count-failed`),
      () => other.get(`/${id}/explain?message=m1`),
    ];
    for (const ask of asked) {
      const { status, body } = await ask();
      expect({ status, body }).toEqual({
        status: 404,
        body: { error: { code: 'DESTINATION_NOT_FOUND', message: expect.not.stringContaining(id) } },
      });
    }
    expect(await acme.ok(acme.get(`/${id}`))).toMatchObject({ version: 1, enabled: true });
    for (const query of ['', '?limit=1', `?cursor=${id.slice(0, -1)}`]) {
      expect(await other.ok(other.get(query))).toEqual({ destinations: [] });
    }
  });

  it('disables with a reason, enables again, and delivers from then on', async () => {
    const { acme, server } = await start();
    const receiver = await receive();
    const id = await acme.create({ urls: [receiver.url()] });
    const disabled = await acme.ok(acme.post(`/${id}/disable`, { reason: 'moving' }));
    expect(disabled).toMatchObject({ enabled: false, disabledReason: 'moving' });
    const enabled = await acme.ok(acme.post(`/${id}/enable`));
    expect(enabled).toMatchObject({ enabled: true });
    expect(enabled).not.toHaveProperty('disabledReason');
    server.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
    await receiver.received(1);
  });

  it('returns a new secret once, and signs with both secrets for the overlap', async () => {
    const { acme } = await start();
    const receiver = await receive();
    const { id, secret } = await acme.ok(acme.post('', { urls: [receiver.url()] }), 201);
    const rotated = await acme.ok(acme.post(`/${String(id)}/rotate-secret`, { overlap: 60_000 }));
    const { results } = await acme.ok(acme.post(`/${String(id)}/test`));
    expect(results).toMatchObject([
      { class: 'delivered', status: 200, origin: new URL(receiver.url()).origin },
    ]);
    const [{ body, headers } = { body: '', headers: {} }] = await receiver.received(1);
    for (const one of [secret, rotated.secret]) {
      expect(() => {
        verifyStandardWebhook(body, headers, String(one));
      }).not.toThrow();
    }
  });

  it('returns the latest deliveries with their attempts, and what happened in each hour', async () => {
    const { acme, server } = await start();
    const receiver = await receive();
    const id = await acme.create({ urls: [receiver.url('/hooks?key=teehee')] });
    const analytics = server.analytics.tenant('acme');
    analytics.track({ userId: 'u1', event: 'Delivered' });
    await receiver.received(1);
    isDown = true;
    analytics.track({ userId: 'u1', event: 'Failed' });
    const deliveries = await until(async () => {
      const found = (await acme.ok(acme.get(`/${id}/recent`))).deliveries as { state: string }[];
      return found.length === 2 && found.every(({ state }) => state !== 'retrying') ? found : undefined;
    });
    const { origin } = new URL(receiver.url());
    expect(deliveries).toMatchObject([
      { event: 'Failed', state: 'failed', attempts: [{ origin, status: 400 }] },
      { event: 'Delivered', state: 'delivered', attempts: [{ origin, status: 200 }] },
    ]);
    expect(JSON.stringify(deliveries)).not.toContain('teehee');
    expect(await acme.ok(acme.get(`/${id}/recent?limit=1`))).toMatchObject({
      deliveries: [{ event: 'Failed' }],
    });
    const hours = await until(async () => {
      const found = (await acme.ok(acme.get(`/${id}/stats`))).hours as {
        delivered: number;
        failed: number;
      }[];
      return found.some(({ failed }) => failed === 1) ? found : undefined;
    });
    expect(hours.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(1);
  });
});

describeServers('the HTTP API of the destinations', (backend) => {
  const stage = new Stage();

  it('answers 503 while the database is silent, and goes on when it is back', async () => {
    const { acme } = await stage.add(
      ApiServer.start({ platform: 'Fastify', connection: backend.connection }),
    );
    expect(await acme.ok(acme.get())).toEqual({ destinations: [] });
    backend.server.pause();
    const answer = await acme.get();
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'QUEUE_UNAVAILABLE' } } });
    expect(answer.headers.get('retry-after')).toBe('5');
    backend.server.resume();
    await until(async () => ((await acme.get()).status === 200 ? true : undefined));
  });
});
