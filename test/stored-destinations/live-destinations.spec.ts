import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DestinationRegistry } from '../../src/destinations/destination-registry.js';
import { DestinationDirectory } from '../../src/stored-destinations/destination-directory.js';
import type { LiveDestination } from '../../src/stored-destinations/live-destination.js';
import { LiveDestinations } from '../../src/stored-destinations/live-destinations.js';
import { SecretBox } from '../../src/stored-destinations/secret-box.js';
import { WebhookClient } from '../../src/webhooks/http/webhook-client.js';
import { deliverOne } from '../support/deliver-one.js';
import { FakeClock } from '../support/fake-clock.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { FarStore } from './far-store.js';

const BUSY = { status: 503, headers: { 'retry-after': '3600' } };
const RECORD = { id: 'crm', tenant: 'acme', createdAt: 0, updatedAt: 0 };

describe('a destination at run time that a process delivers to', () => {
  const stage = new Stage();
  let clock: FakeClock;
  let store: FarStore;
  let directory: DestinationDirectory;
  let client: WebhookClient;
  let receiver: Receiver;
  let isBusy: boolean;
  let destination: LiveDestination;
  let destinations: LiveDestinations;
  /** URLs that are gone, of which no recovery will be reported. */
  let gone: string[];

  beforeEach(async () => {
    clock = new FakeClock();
    store = new FarStore();
    directory = new DestinationDirectory({ store, feed: store, clock });
    client = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
    isBusy = false;
    gone = [];
    receiver = await stage.receiver({ answer: () => (isBusy ? BUSY : 200) });
    destinations = new LiveDestinations({
      directory,
      box: new SecretBox([]),
      client,
      allowPrivateNetwork: true,
      observer: {
        onOutcome: () => undefined,
        onDown: () => undefined,
        onUp: () => undefined,
        onGone: ({ destination: id }) => gone.push(id),
      },
      onAttempt: () => undefined,
    });
    await store.insert({ ...RECORD, urls: [receiver.url('/old')], version: 1 }, 1);
    const found = await destinations.find('crm');
    if (typeof found !== 'object') throw new Error('It is not found');
    destination = found;
  });
  afterEach(async () => {
    directory.close();
    await client.close();
  });

  const deliver = (signal?: AbortSignal): ReturnType<typeof deliverOne> =>
    deliverOne(destination, { id: 'm1', body: '{}', outcomes: [] }, signal);

  /** Changes the URL of the destination, as another process does. */
  async function change(): Promise<void> {
    await store.replace({ ...RECORD, urls: [receiver.url('/new')], version: 2 });
    await store.publish({ id: 'crm', tenant: 'acme' });
  }

  it('is changed within two seconds, even during a long job', async () => {
    for (let seconds = 0; seconds < 60; seconds += 5) {
      await deliver();
      await clock.pass(5_000);
    }
    await change();
    await clock.pass(2_000);
    await deliver();
    expect(new Set(receiver.requests.slice(0, -1).map(({ url }) => url))).toEqual(new Set(['/old']));
    expect(receiver.requests.at(-1)?.url).toBe('/new');
  });

  it('is looked up again before the first message after a long pause of a job, and is then up to date', async () => {
    await clock.pass(40_000);
    await change();
    expect(await deliver()).toEqual({ class: 'deferred', outcomes: [], wait: 0 });
    await destinations.find('crm');
    await deliver();
    expect(receiver.requests.map(({ url }) => url)).toEqual(['/new']);
  });

  it('gets nothing from a job after a long pause if another process has disabled or deleted it', async () => {
    await clock.pass(40_000);
    await store.replace({ ...RECORD, urls: [receiver.url('/old')], enabled: false, version: 2 });
    await store.publish({ id: 'crm', tenant: 'acme' });
    expect(await deliver()).toMatchObject({ class: 'deferred' });
    expect(await destinations.find('crm')).toMatchObject({ isDisabled: true });
    await clock.pass(600_000);
    await store.remove('crm');
    await store.publish({ id: 'crm', tenant: 'acme' });
    expect(await deliver()).toMatchObject({ class: 'deferred' });
    expect(await destinations.find('crm')).toBe('deleted');
    expect(receiver.requests).toEqual([]);
  });

  it('gets nothing from a job once its tenant has changed, even if its record does not name the tenant', async () => {
    const record = { ...RECORD, id: 'erp', tenant: undefined, urls: [receiver.url('/old')] };
    await store.insert({ ...record, version: 1 }, 2);
    const unnamed = await destinations.find('erp');
    if (typeof unnamed !== 'object') throw new Error('It is not found');
    await store.replace({ ...record, enabled: false, version: 2 });
    await store.publish({ id: undefined, tenant: 'acme' });
    await clock.pass(2_000);
    expect(await deliverOne(unnamed, { id: 'm1', body: '{}', outcomes: [] })).toMatchObject({
      class: 'deferred',
    });
    expect(await destinations.find('erp')).toMatchObject({ isDisabled: true });
    expect(receiver.requests).toEqual([]);
  });

  it('gets its next message at once after any pause in which nothing changed', async () => {
    for (const seconds of [1, 10, 40, 600]) {
      await clock.pass(seconds * 1_000);
      expect(await deliver()).toMatchObject({ class: 'delivered' });
    }
  });

  it('shares limits only with destinations of its tenant, and unknown destinations share theirs', async () => {
    const records = [
      { ...RECORD, id: 'erp' },
      { ...RECORD, id: 'other', tenant: 'globex' },
      { ...RECORD, id: 'shared', tenant: undefined },
    ];
    for (const record of records) {
      await store.insert({ ...record, urls: [receiver.url('/')], version: 1 }, 2);
      await destinations.find(record.id);
    }
    const registry = new DestinationRegistry([], destinations);
    expect(['erp', 'other', 'shared', 'gone', 'forged'].map((id) => registry.ownerOf(id))).toEqual([
      registry.ownerOf('crm'),
      'tenant globex',
      'destination shared',
      'unknown',
      'unknown',
    ]);
  });

  describe("whose URL has asked for an hour's wait", () => {
    const heldBack = (): number => destination.heldBack(Date.now(), []);

    beforeEach(async () => {
      isBusy = true;
      for (let failed = 0; failed < 5; failed++) await deliver();
      // While messages are held back, a worker checks regularly whether they still are.
      for (let seconds = 0; seconds < 100; seconds++) {
        expect(heldBack()).toBeGreaterThan(3_000_000);
        await clock.pass(1_000);
      }
    });

    it('takes messages again once another process has disabled and enabled it, even at the same moment', async () => {
      await store.replace({ ...RECORD, urls: [receiver.url('/old')], enabled: false, version: 2 });
      await store.replace({ ...RECORD, urls: [receiver.url('/old')], version: 3 });
      await store.publish({ id: 'crm', tenant: 'acme' });
      await clock.pass(2_000);
      await destinations.find('crm');
      expect(heldBack()).toBe(0);
    });

    it('still waits after a change of its name', async () => {
      await store.replace({ ...RECORD, urls: [receiver.url('/old')], name: 'CRM', version: 2 });
      await store.publish({ id: 'crm', tenant: 'acme' });
      await clock.pass(2_000);
      await destinations.find('crm');
      expect(heldBack()).toBeGreaterThan(3_000_000);
    });
  });

  describe('that fails and is deleted without a notice that names it', () => {
    beforeEach(async () => {
      isBusy = true;
      await deliver();
      await store.remove('crm');
    });

    it('is forgotten at once with a notice that names nothing', async () => {
      directory.forget({ tenant: undefined, id: undefined });
      await clock.pass(0);
      expect(gone).toEqual(['crm']);
    });

    it('is forgotten later if it could not be looked up at the time of that notice', async () => {
      jest.spyOn(store, 'findById').mockRejectedValueOnce(new Error('the store is away'));
      directory.forget({ tenant: undefined, id: undefined });
      await clock.pass(0);
      await store.insert({ ...RECORD, id: 'erp', urls: [receiver.url()], version: 1 }, 2);
      const passed = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 601_000);
      await destinations.find('erp');
      await clock.pass(0);
      passed.mockRestore();
      expect(gone).toEqual(['crm']);
    });
  });

  it('gets nothing after a pause while changes cannot be read, even if the process ends meanwhile', async () => {
    await clock.pass(40_000);
    store.isAway = true;
    expect(await deliver()).toMatchObject({ class: 'deferred' });
    const shutdown = new AbortController();
    store.changesSince = () => new Promise(() => undefined);
    const brokenOff = deliver(shutdown.signal);
    shutdown.abort();
    expect(await brokenOff).toMatchObject({ class: 'deferred' });
    expect(await deliver(shutdown.signal)).toMatchObject({ class: 'deferred' });
    expect(receiver.requests).toEqual([]);
  });
});
