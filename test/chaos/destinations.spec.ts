import { expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { startApplication } from '../support/application-child.js';
import { describeServers } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';

const DESTINATIONS = { allowPrivateNetwork: true, encryptionKey: Buffer.alloc(32, 1).toString('hex') };
const ROUNDS = 10;
const MESSAGES = 50;
const TENANTS = 20;
const CHANGES = 10_000;
/** Number of concurrent changes. */
const WORKERS = 7;
const MINUTE = 60_000;
/** Milliseconds after which a change has to be in force in other processes. */
const CONSISTENT_AFTER = 2_000;
/** Requests a second. */
const RATE = 40;

describeServers('destinations at run time', (backend) => {
  const stage = new Stage();

  it('lose nothing and send nothing forbidden while they are changed and workers are killed', async () => {
    const { connection } = backend;
    const receivers = [await stage.receiver(), await stage.receiver()];
    const urls = receivers.map((receiver) => [receiver.url()]);
    const app = await stage.app({ connection, worker: false, destinations: DESTINATIONS });
    const destinations = app.context.get(DestinationsService);
    // A short timeout makes job locks short, so that other workers soon take over the jobs of a killed worker.
    const terms = { timeout: 2_000, retryWindow: 600_000 };
    const { id } = await destinations.create({ tenant: 'acme', urls: urls[0] ?? [], ...terms });
    const meant: string[] = [];
    const forbidden: string[] = [];
    const track = async (tenant: string, ids: string[]): Promise<void> => {
      for (let n = 0; n < MESSAGES; n++) {
        ids.push(app.analytics.tenant(tenant).track({ userId: 'u1', event: 'E' }));
      }
      await app.analytics.flush();
    };

    for (let round = 0; round < ROUNDS; round++) {
      const child = await startApplication({ connection, destinations: DESTINATIONS, end: 'kill' });
      await child.waitFor(/^taken$/);
      await track('acme', meant);
      const gone = await destinations.create({ tenant: `gone-${round}`, urls: urls[0] ?? [], ...terms });
      await destinations.update(id, { urls: urls[round % 2] ?? [] });
      await track('acme', meant);
      await destinations.disable(id);
      await track('acme', forbidden);
      await destinations.delete(gone.id);
      await track(`gone-${round}`, forbidden);
      // Kills the worker in the middle of its work.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
      await child.stop('SIGKILL');
      await destinations.enable(id);
      await destinations.rotateSecret(id, { overlap: 0 });
    }
    await stage.app({ connection, destinations: DESTINATIONS });
    const arrived = (): Set<string> => new Set(receivers.flatMap((receiver) => receivedIds(receiver)));
    await until(() => (meant.every((one) => arrived().has(one)) ? true : undefined));
    expect(forbidden.filter((one) => arrived().has(one))).toEqual([]);
  }, 600_000);

  it('are the same in all processes two seconds after the last of 10,000 changes in a minute', async () => {
    const { connection } = backend;
    const receiver = await stage.receiver();
    const options = { connection, destinations: DESTINATIONS };
    const apps = [await stage.app(options), await stage.app(options)] as const;
    const [mine, other] = apps.map(({ context }) => context.get(DestinationsService));
    if (mine === undefined || other === undefined) throw new Error('There are two applications');
    const created: string[] = [];
    for (let n = 0; n < TENANTS; n++) {
      const { id } = await mine.create({ tenant: `t${n}`, urls: [receiver.url('/before')] });
      created.push(id);
    }
    const ids: string[] = [];
    const load = setInterval(() => {
      for (const [index, { analytics }] of apps.entries()) {
        ids.push(analytics.tenant(`t${index}`).track({ userId: 'u1', event: 'E' }));
      }
    }, 20);
    let changes = 0;
    const startedAt = performance.now();
    const change = async (worker: number): Promise<void> => {
      for (let n = worker; changes < CHANGES; n += WORKERS) {
        // At most 10,000 changes a minute, and no fewer if the machine is fast enough.
        const due = startedAt + (changes++ / CHANGES) * MINUTE;
        await new Promise((resolve) => setTimeout(resolve, Math.max(due - performance.now(), 0)));
        const destinations = n % 2 === 0 ? mine : other;
        await destinations.update(created[n % TENANTS] ?? '', { description: `change ${n}` });
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => change(worker)));
    const took = performance.now() - startedAt;
    clearInterval(load);
    process.stdout.write(`${CHANGES} changes in ${(took / 1_000).toFixed(1)} s\n`);

    await receiver.received(ids.length);
    await mine.update(created[1] ?? '', { urls: [receiver.url('/after')] });
    await new Promise((resolve) => setTimeout(resolve, CONSISTENT_AFTER));
    apps[1].analytics.tenant('t1').track({ userId: 'u1', event: 'Last' });
    await apps[1].analytics.flush();
    await receiver.received(ids.length + 1);
    expect(receiver.requests.at(-1)?.url).toBe('/after');
    const arrived = new Set(receivedIds(receiver));
    expect(ids.filter((one) => !arrived.has(one))).toEqual([]);
  }, 300_000);

  it('get as many requests a second as `rateLimit` says, within 20 %, from two processes', async () => {
    const { connection } = backend;
    const times: number[] = [];
    const receiver = await stage.receiver({
      answer: () => {
        times.push(performance.now());
        return 200;
      },
    });
    const app = await stage.app({ connection, worker: false, destinations: DESTINATIONS });
    const destinations = app.context.get(DestinationsService);
    await destinations.create({ tenant: 'acme', urls: [receiver.url()], rateLimit: RATE });
    const children = await Promise.all(
      [1, 2].map(() => startApplication({ connection, destinations: DESTINATIONS, end: 'kill' })),
    );
    await Promise.all(children.map((child) => child.waitFor(/^taken$/)));
    for (let n = 0; n < RATE * 30; n++) app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
    await app.analytics.flush();
    await receiver.received(RATE * 30);
    await Promise.all(children.map((child) => child.stop('SIGKILL')));
    const [first = 0] = times;
    const rate = (times.length - 1) / (((times.at(-1) ?? 0) - first) / 1_000);
    process.stdout.write(`${rate.toFixed(1)} requests a second of ${RATE}\n`);
    expect(rate).toBeGreaterThan(RATE * 0.8);
    expect(rate).toBeLessThan(RATE * 1.2);
  }, 180_000);
});
