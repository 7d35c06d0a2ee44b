import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { DeliveriesService, type DestinationsOptions, DestinationsService } from '../../src/index.js';
import { AuditLog } from '../../src/destinations-api/audit-log.js';
import type { StoredDestination } from '../../src/options/destination-store.js';
import { FakeClock } from '../support/fake-clock.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { MemoryDestinationStore } from '../stored-destinations/memory-destination-store.js';
import { type ApiClient, ApiServer, authorize } from './api-server.js';

/** All timers except the one that limits how long an answer takes. */
const TIMERS_OF_OTHERS = [
  ...(['Date', 'hrtime', 'performance', 'nextTick', 'queueMicrotask'] as const),
  ...(['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const),
] as const;

/** A store that makes changes, and then loses the connection. */
class LosingStore extends MemoryDestinationStore {
  override async replace(destination: StoredDestination): Promise<boolean> {
    await super.replace(destination);
    throw Object.assign(new Error('teehee'), { code: 'ECONNRESET' });
  }
}

/** Work that lasts until it is told to end. */
class HeldWork {
  readonly begun: Promise<void>;
  fail = (): void => undefined;
  private begin = (): void => undefined;

  constructor() {
    this.begun = new Promise((resolve) => (this.begin = resolve));
  }

  readonly run = (): Promise<never> => {
    this.begin();
    return new Promise((_, reject) => {
      this.fail = () => {
        reject(new Error('teehee'));
      };
    });
  };
}

describe('the audit log of the destinations', () => {
  // Registered first, so that the application is closed with real timers.
  afterEach(() => {
    jest.useRealTimers();
  });
  const stage = new Stage();
  const newConnection = quickConnections();

  async function start(destinations?: DestinationsOptions): Promise<ApiServer> {
    const connection = await newConnection();
    return stage.add(ApiServer.start({ platform: 'Express', connection }, destinations));
  }

  const auditOf = ({ server }: ApiServer): string[] =>
    server.log.analytics.filter((line) => line.startsWith('log: Audit: '));

  it('has one line for each change, and none for requests that only read or are refused', async () => {
    const api = await start();
    const receiver = await stage.receiver();
    const { acme, operator } = api;
    const id = await acme.create({ urls: [receiver.url()] });
    await acme.ok(acme.patch(`/${id}`, { name: 'Ours' }));
    await acme.ok(acme.post(`/${id}/test`));
    await acme.ok(acme.post(`/${id}/disable`));
    await operator.ok(operator.post(`/${id}/enable`));
    await operator.ok(operator.post(`/${id}/replay`));
    await acme.ok(acme.post(`/${id}/rotate-secret`));
    for (const path of ['', `/${id}`, `/${id}/failed`, `/${id}/count-failed`]) await acme.ok(acme.get(path));
    for (const refused of [
      acme.patch(`/${id}`, { version: 1, name: 'Late' }),
      acme.patch(`/${id}`, { nme: 'Ours' }),
      acme.post('', {}),
      acme.post('/dst_none/replay'),
      api.other.delete(`/${id}`),
    ]) {
      expect((await refused).status).toBeGreaterThanOrEqual(400);
    }
    expect((await acme.delete(`/${id}`)).status).toBe(204);
    expect(auditOf(api)).toEqual([
      `log: Audit: the tenant "acme" added the destination "${id}".`,
      `log: Audit: the tenant "acme" changed the destination "${id}".`,
      `log: Audit: the tenant "acme" sent a test event to the destination "${id}".`,
      `log: Audit: the tenant "acme" disabled the destination "${id}".`,
      `log: Audit: the operator enabled the destination "${id}".`,
      `log: Audit: the operator replayed failed messages of the destination "${id}".`,
      `log: Audit: the tenant "acme" rotated the secret of the destination "${id}".`,
      `log: Audit: the tenant "acme" deleted the destination "${id}".`,
    ]);
  });

  it('names the user as `authorize` does, and escapes whatever a terminal would obey', async () => {
    let name: unknown;
    const api = await start({
      api: { authorize: async (request) => Object.assign({ name }, await authorize(request)) },
    });
    const { acme, operator } = api;
    const id = await acme.create();
    const disableAs = async (client: ApiClient, given: unknown): Promise<string | undefined> => {
      name = given;
      await client.ok(client.post(`/${id}/disable`));
      return auditOf(api).at(-1)?.split(' disabled the destination')[0];
    };
    expect(await disableAs(acme, 'ada@acme.example')).toBe(
      'log: Audit: "ada@acme.example" of the tenant "acme"',
    );
    expect(await disableAs(operator, 'Ada "the first"')).toBe(
      String.raw`log: Audit: the operator "Ada \"the first\""`,
    );
    expect(await disableAs(operator, 'a\n\u001b[2J\u009b\u202e\u2028\ud800')).toBe(
      String.raw`log: Audit: the operator "a\n\u001b[2J\u009b\u202e\u2028\ud800"`,
    );
    expect(await disableAs(operator, 'x'.repeat(5_000))).toBe(
      `log: Audit: the operator "${'x'.repeat(200)}"`,
    );
    for (const none of [undefined, '']) {
      expect(await disableAs(operator, none)).toBe('log: Audit: the operator');
    }
    for (const wrong of [null, 7, { first: 'Ada' }]) {
      name = wrong;
      expect(await operator.get()).toMatchObject({ status: 500 });
    }
    expect(await api.server.log.line(/authorize. returned an object/)).toContain('a `name` that is a string');
  });

  it('counts the changes of a tenant that makes very many, and has a line for each change of all others', async () => {
    const api = await start();
    const { acme, other, operator } = api;
    const id = await acme.create();
    for (let n = 0; n < 70; n++) await acme.ok(acme.post(`/${id}/${n % 2 === 0 ? 'disable' : 'enable'}`));
    const ofOther = await other.create();
    for (let n = 0; n < 70; n++) await operator.ok(operator.post(`/${id}/disable`));
    await api.close();
    const lines = auditOf(api);
    const disabled = `disabled the destination "${id}".`;
    expect(lines.slice(0, 2)).toEqual([
      `log: Audit: the tenant "acme" added the destination "${id}".`,
      `log: Audit: the tenant "acme" ${disabled}`,
    ]);
    expect(lines.filter((line) => line.startsWith('log: Audit: the tenant "acme" '))).toHaveLength(60);
    expect(lines.slice(60)).toEqual([
      `log: Audit: the tenant "other" added the destination "${ofOther}".`,
      ...new Array<string>(70).fill(`log: Audit: the operator ${disabled}`),
      'log: Audit: 11 more changes by the tenant "acme" within a minute, without a line for each: ' +
        '6 × enabled a destination, 5 × disabled a destination.',
    ]);
  });

  describe('of a tenant that makes very many changes', () => {
    const request = { scope: { tenant: 'acme' }, name: undefined, isByLink: false, id: 'dst_1' };
    const changed = 'Audit: the tenant "acme" changed the destination "dst_1".';

    it('has a line for each change again when the minute is over, after a line that counts the others', async () => {
      const [clock, lines] = [new FakeClock(), new Array<string>()];
      const audit = new AuditLog({ log: (line) => lines.push(line) }, clock);
      const change = (times: number): void => {
        for (let n = 0; n < times; n++) audit.done('update', request, { status: 200, headers: {}, body: '' });
      };
      change(1_000);
      for (let n = 0; n < 5; n++) audit.failed('rotateSecret', request, new Error('away'));
      audit.late('replay', request, 60_000);
      await clock.pass(59_000);
      expect(lines).toEqual(new Array(60).fill(changed));
      await clock.pass(1_000);
      expect(lines.slice(60)).toEqual([
        'Audit: 946 more changes by the tenant "acme" within a minute, without a line for each: ' +
          '940 × changed a destination, 5 × rotated the secret of a destination, 1 × replayed failed messages of a destination. ' +
          '6 of them failed, or were still running.',
      ]);
      change(60);
      await clock.pass(60_000);
      expect(lines.slice(61)).toEqual(new Array(60).fill(changed));
      expect(clock.pending).toBe(0);
    });

    it('has a line for each change that ends after the application was closed, since nothing would count it', () => {
      const [clock, lines] = [new FakeClock(), new Array<string>()];
      const audit = new AuditLog({ log: (line) => lines.push(line) }, clock);
      audit.close();
      for (let n = 0; n < 70; n++) audit.done('update', request, { status: 200, headers: {}, body: '' });
      expect(lines).toEqual(new Array(70).fill(changed));
    });
  });

  it('has a line for a change that failed half-way, and says so', async () => {
    const api = await start({ store: new LosingStore() });
    const { acme } = api;
    const id = await acme.create();
    expect(await acme.post(`/${id}/disable`)).toMatchObject({ status: 500 });
    expect(await acme.ok(acme.get(`/${id}`))).toMatchObject({ enabled: false });
    Object.assign(api.server.app.get(DeliveriesService), {
      replay: () => Promise.reject(Object.assign(new Error('teehee'), { code: 'ECONNRESET' })),
    });
    expect(await acme.post(`/${id}/replay`)).toMatchObject({
      status: 503,
      body: { error: { code: 'QUEUE_UNAVAILABLE' } },
    });
    const failed = (code: string): string =>
      `It failed (${code}), but may have been done completely or in part.`;
    expect(auditOf(api).slice(1)).toEqual([
      `log: Audit: the tenant "acme" disabled the destination "${id}". ${failed('INTERNAL_ERROR')}`,
      `log: Audit: the tenant "acme" replayed failed messages of the destination "${id}". ${failed('QUEUE_UNAVAILABLE')}`,
    ]);
    expect(api.server.log.analytics.join('\n')).not.toContain('teehee');
  });

  it.each([
    {
      title: 'a replay, which goes on',
      ask: (acme: ApiClient, id: string) => acme.post(`/${id}/replay`),
      answer: { status: 202, body: { running: true } },
      did: (id: string) => `replayed failed messages of the destination "${id}"`,
      seconds: 60,
    },
    {
      title: 'an addition, of which nobody knows',
      ask: (acme: ApiClient) => acme.post('', { urls: ['https://hooks.example.com'] }),
      answer: { status: 503, body: { error: { code: 'QUEUE_UNAVAILABLE' } } },
      did: () => 'added a destination',
      seconds: 10,
    },
  ])('has a line for $title when its answer is due', async ({ ask, answer, did, seconds }) => {
    const api = await start();
    const { app, log } = api.server;
    const id = await api.acme.create();
    const before = auditOf(api).length;
    const work = new HeldWork();
    Object.assign(app.get(DeliveriesService), { replay: work.run });
    Object.assign(app.get(DestinationsService), { create: work.run });
    jest.useFakeTimers({ doNotFake: [...TIMERS_OF_OTHERS] });
    const asked = ask(api.acme, id);
    await work.begun;
    await jest.advanceTimersByTimeAsync(seconds * 1_000);
    expect(await asked).toMatchObject(answer);
    jest.useRealTimers();
    const line = `log: Audit: the tenant "acme" ${did(id)}. It was still running after ${seconds} seconds.`;
    expect(auditOf(api).slice(before)).toEqual([line]);

    work.fail();
    expect(await log.line(/^error: /)).toMatch(/A request failed after it had been answered: Error at /);
    expect(auditOf(api).slice(before)).toEqual([line]);
    expect(log.analytics.join('\n')).not.toContain('teehee');
  });
});
