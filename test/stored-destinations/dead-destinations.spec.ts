import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { firstValueFrom } from 'rxjs';
import { DestinationLines } from '../../src/deliveries/destination-lines.js';
import { createDeadDestinations } from '../../src/stored-destinations/create-dead-destinations.js';
import type { DeadDestinations } from '../../src/stored-destinations/dead-destinations.js';
import { DeliveriesService, DestinationsService, type EndpointEvent } from '../../src/index.js';
import type { DestinationRecord } from '../../src/options/destination-store.js';
import { hashUrl } from '../../src/options/webhook-url.js';
import type { QueuedMessage } from '../../src/queue/batch-job.js';
import { DestinationRecords } from '../../src/stored-destinations/destination-records.js';
import { SecretBox } from '../../src/stored-destinations/secret-box.js';
import { WritableDestinations } from '../../src/stored-destinations/writable-destinations.js';
import { AnalyticsApp } from '../support/analytics-app.js';
import { describeAnyServer, describeServersOrEmbedded } from '../support/describe-backend.js';
import { quickConnections } from '../support/quick-connections.js';
import { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

const newConnection = quickConnections();

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The URLs of the destination. It uses the first few of them. */
const URLS = [0, 1, 2].map((n) => `https://hooks.example.com/${n}`);

/** @param statuses the answer of each URL */
function failing(...statuses: number[]): { delivered: []; failed: QueuedMessage[] } {
  const outcomes = statuses.map((status, url) => ({
    url: hashUrl(new URL(URLS[url] ?? '')),
    class: status < 300 ? ('delivered' as const) : ('permanent' as const),
    status,
    attempt: 1,
    at: 0,
    duration: 1,
  }));
  return { delivered: [], failed: [{ id: 'm', body: '{}', outcomes }] };
}
const TIMES = { createdAt: 0, updatedAt: 0 };
const DELIVERED = { delivered: ['m'], failed: [] };

/** The part of a process that watches for dead destinations, and the record that the process knows. */
interface Watching {
  dead: DeadDestinations;
  known: DestinationRecord;
}

describe('a destination that takes nothing', () => {
  const START = 1_795_253_400_000;
  let now: number;
  let told: string[];
  let store: MemoryDestinationStore;
  let records: DestinationRecords;
  let one: Watching;
  let other: Watching;
  let open: (maxFailing?: number) => Promise<Watching>;

  beforeEach(async () => {
    Logger.overrideLogger(false);
    now = START;
    told = [];
    store = new MemoryDestinationStore();
    const notices = { tell: () => Promise.resolve() };
    const writable = new WritableDestinations({ store, isOwn: false, notices });
    records = new DestinationRecords({ store, writable, box: new SecretBox([]) });
    await records.add({ id: 'a', urls: URLS.slice(0, 1), createdAt: now, updatedAt: now, version: 1 }, 1);
    const emit = ({ type }: EndpointEvent): unknown => told.push(type);
    const lines = new DestinationLines(new Logger('Analytics'));
    open = async (maxFailing) => ({
      dead: createDeadDestinations(records, 5 * DAY, { emit }, lines, () => now, maxFailing),
      known: await stored(),
    });
    one = await open();
    other = await open();
  });

  const stored = (): Promise<DestinationRecord> => records.find('a', undefined);

  /** Reports the outcome of an attempt to a process, which first hears of earlier changes if `hasHeard` is set. */
  async function after(
    time: number,
    attempt: Parameters<DeadDestinations['attempted']>[1],
    process: Watching = one,
    { hasHeard = true } = {},
  ): Promise<void> {
    now += time;
    if (hasHeard) process.known = await stored();
    process.dead.attempted(process.known, attempt);
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Disables and enables the destination, as its owner does after a correction. */
  async function disableAndEnable(): Promise<void> {
    await records.change('a', {}, () => ({ enabled: false }));
    await records.change('a', {}, () => ({ enabled: true, failingSince: undefined }));
  }

  async function expectEnabled(): Promise<void> {
    expect((await stored()).enabled).not.toBe(false);
    expect(told).not.toContain('disabled');
  }

  it('is disabled with all others that fail as long, even if they are more than can be remembered', async () => {
    const { dead } = await open(2);
    const ids = ['a', 'b', 'c', 'd', 'e'];
    for (const id of ids.slice(1)) {
      await records.add({ id, urls: URLS.slice(0, 1), createdAt: now, updatedAt: now, version: 1 }, 10);
    }
    const all = (): Promise<DestinationRecord[]> => Promise.all(ids.map((id) => records.find(id, undefined)));
    const failEach = async (time: number): Promise<void> => {
      now += time;
      for (const record of await all()) dead.attempted(record, failing(404));
      await new Promise((resolve) => setImmediate(resolve));
    };
    for (let hours = 0; hours < 12; hours += 2) await failEach(2 * HOUR);
    for (const { failingSince } of await all()) expect(failingSince).toBeLessThan(now);
    for (let hours = 0; hours < 5 * 24; hours += 12) await failEach(12 * HOUR);
    for (const { enabled } of await all()) expect(enabled).toBe(false);
    expect(told.filter((type) => type === 'disabling').length).toBeLessThanOrEqual(ids.length);
    expect(told.filter((type) => type === 'disabled')).toHaveLength(ids.length);
  });

  it('makes room for others once it has not failed for a long time, as after a deletion', async () => {
    const { dead } = await open(1);
    await records.add({ id: 'b', urls: URLS.slice(0, 1), createdAt: now, updatedAt: now, version: 1 }, 10);
    const find = (): Promise<DestinationRecord> => records.find('b', undefined);
    dead.attempted(await stored(), failing(404));
    for (const time of [0, 5 * DAY + HOUR, 2 * HOUR]) {
      now += time;
      dead.attempted(await find(), failing(404));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await find()).toMatchObject({ failingSince: now });
  });

  it('is disabled after five days in which every message failed, with a warning a day before', async () => {
    await after(0, failing(404));
    await after(2 * HOUR, failing(404));
    const since = START + 2 * HOUR;
    expect(await stored()).toMatchObject({ failingSince: since });
    await after(4 * DAY - 1, failing(404));
    expect(told).toEqual([]);
    await after(HOUR, failing(404));
    await after(HOUR, failing(404));
    expect(told).toEqual(['disabling']);
    await after(DAY, failing(404));
    expect(told).toEqual(['disabling', 'disabled']);
    expect(await stored()).toMatchObject({
      enabled: false,
      disabledReason: `every message has failed since ${new Date(since).toISOString()}`,
    });
  });

  it('has its failing days counted anew after it takes a message, which the store learns if it knew of the failures', async () => {
    await after(0, failing(404));
    await after(DAY, failing(404));
    await after(0, DELIVERED);
    expect(await stored()).toMatchObject({ failingSince: undefined, version: 3 });
    await after(4 * DAY, failing(404));
    await after(0, DELIVERED);
    await after(4 * DAY, failing(404));
    expect(await stored()).toMatchObject({ version: 3 });
    await expectEnabled();
  });

  it('is remembered by the store across a restart', async () => {
    await records.change('a', {}, () => ({ failingSince: now - 6 * DAY }));
    await after(0, failing(404));
    expect(told).toEqual(['disabled']);
  });

  it('is disabled at once when it answers 410, and only once by all processes together', async () => {
    const gone = [after(0, failing(410)), after(0, failing(410), other, { hasHeard: false })];
    await Promise.all(gone);
    expect(told).toEqual(['disabled']);
    expect(await stored()).toMatchObject({ disabledReason: expect.stringContaining('410') });
  });

  it('has few lines in the log if many other destinations are gone too', async () => {
    const lines: string[] = [];
    const silent = { error: () => undefined, log: () => undefined };
    Logger.overrideLogger({ ...silent, warn: (line: string) => lines.push(line) });
    for (let n = 0; n < 20; n++) {
      const record = { id: `gone-${n}`, urls: URLS.slice(0, 1), createdAt: now, updatedAt: now, version: 1 };
      await records.add(record, 100);
      one.dead.attempted(record, failing(410));
    }
    await until(() => (told.length === 20 ? true : undefined));
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(/"gone-0" was disabled: it answered 410/);
  });

  it('is not disabled at once if only one of its URLs is gone', async () => {
    await after(0, failing(410, 200));
    await after(HOUR, failing(200, 410));
    await after(HOUR, failing(410, 400));
    await expectEnabled();
    await after(HOUR, failing(410, 410));
    expect(told).toEqual(['disabled']);
  });

  it('is disabled after five days in which one of its URLs is gone', async () => {
    await after(0, failing(410, 200));
    await after(2 * HOUR, failing(410, 200));
    await after(5 * DAY, failing(410, 200));
    expect(told).toEqual(['disabled']);
  });

  it('has its failing days counted anew when it is enabled', async () => {
    await after(0, failing(404));
    await after(DAY, failing(404));
    await disableAndEnable();
    await after(5 * DAY, failing(404));
    await after(HOUR, failing(404));
    await expectEnabled();
  });

  it('has its failing days counted anew in all processes when it is enabled after one of them disabled it', async () => {
    await after(0, failing(404));
    await after(0, failing(404), other);
    await after(DAY, failing(404));
    await after(0, failing(404), other);
    await after(5 * DAY, failing(404));
    expect(told).toEqual(['disabled']);
    told = [];
    await disableAndEnable();
    await after(HOUR, failing(404), other);
    await after(HOUR, failing(404), other, { hasHeard: false });
    await expectEnabled();
  });

  it('is not disabled by a process that does not know yet that it was enabled', async () => {
    await records.change('a', {}, () => ({ failingSince: now - 5 * DAY + 1 }));
    await after(0, failing(404));
    await disableAndEnable();
    await after(HOUR, failing(404), one, { hasHeard: false });
    await expectEnabled();
  });

  it('is not disabled by the 410 of a former URL in a process that does not know of the change yet', async () => {
    await records.change('a', {}, () => ({ urls: URLS.slice(1, 2) }));
    await after(0, failing(410), one, { hasHeard: false });
    await after(HOUR, failing(410));
    await expectEnabled();
    await records.change('a', {}, () => ({ urls: URLS.slice(0, 2) }));
    await after(HOUR, failing(410));
    await expectEnabled();
    await after(HOUR, failing(410, 410));
    expect(told).toEqual(['disabled']);
  });

  it('is disabled when all of its remaining URLs answer 410', async () => {
    await after(0, failing(410, 410));
    expect(told).toEqual(['disabled']);
  });

  it('has its failing days counted anew when its owner gives it another URL, but not after other changes', async () => {
    await after(0, failing(404));
    await after(2 * HOUR, failing(404));
    await records.change('a', {}, () => ({ name: 'Warehouse', urls: URLS.slice(0, 1) }));
    expect(await stored()).toMatchObject({ failingSince: START + 2 * HOUR });
    await records.change('a', {}, () => ({ urls: URLS.slice(0, 2) }));
    await after(5 * DAY, failing(404, 404));
    await after(HOUR, failing(404, 404));
    await expectEnabled();
    await after(5 * DAY, failing(404, 404));
    expect(told).toEqual(['disabled']);
  });

  it('is not disabled because a URL that the store has replaced failed for five days', async () => {
    await records.change('a', {}, () => ({ failingSince: now - 6 * DAY }));
    one.known = await stored();
    // Not replaced through this module, which would have begun to count anew.
    await store.replace({ ...one.known, ...TIMES, urls: URLS.slice(1, 2), version: 3 });
    await after(0, failing(404), one, { hasHeard: false });
    await expectEnabled();
  });

  it.each([
    ['before the store knew that it fails', 0],
    ['after the store knew', 2 * HOUR],
  ])('is not disabled if another process delivered to it %s', async (_when, time) => {
    await after(0, failing(404));
    await after(time, failing(404));
    await after(DAY, DELIVERED, other);
    await after(4 * DAY, failing(404));
    await after(HOUR, failing(404));
    await expectEnabled();
  });

  it('is not disabled if another process delivers to it at the same moment', async () => {
    await after(0, failing(404));
    await after(2 * HOUR, failing(404));
    one.known = await stored();
    const find = store.findById.bind(store);
    jest.spyOn(store, 'findById').mockImplementationOnce(async (id) => {
      const found = await find(id);
      await after(0, DELIVERED, other, { hasHeard: false });
      return found;
    });
    other.known = one.known;
    await after(5 * DAY, failing(404), one, { hasHeard: false });
    await expectEnabled();
  });

  it('is stored as recovered, whichever process stored that it fails', async () => {
    await after(0, failing(404));
    await after(0, failing(404), other);
    await after(DAY, failing(404), other);
    await after(DAY, DELIVERED);
    expect(await stored()).toMatchObject({ failingSince: undefined });
  });
});

describe('a destination that failed before it was disabled and enabled', () => {
  const stage = new Stage();
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('stays enabled when its next message fails, days later', async () => {
    let passed = 0;
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + passed);
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({
      connection: await newConnection(),
      destinations: { allowPrivateNetwork: true },
      flushAt: 1,
    });
    const destinations = app.context.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    const failOne = async (): Promise<void> => {
      const failed = firstValueFrom(app.context.get(DeliveriesService).outcomes$);
      app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
      expect(await failed).toMatchObject({ class: 'failed' });
      await app.settled();
    };
    await failOne();
    await destinations.disable(id);
    passed = 6 * DAY;
    await destinations.enable(id);
    await failOne();
    await failOne();
    expect(await destinations.get(id)).toMatchObject({ enabled: true });
  });
});

describe('a destination that gets another URL while the former URL answers that it is gone', () => {
  const stage = new Stage();

  it('stays enabled, and gets messages that are tracked from then on', async () => {
    let answer: (status: number) => void = () => undefined;
    const before = await stage.receiver({ answer: () => new Promise((resolve) => (answer = resolve)) });
    const now = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      destinations: { allowPrivateNetwork: true },
      flushAt: 1,
    });
    const destinations = app.context.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: [before.url()] });
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'one' });
    await before.received(1);
    await destinations.update(id, { urls: [now.url()] });
    answer(410);
    await app.failedJobs();
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'two' });
    await now.received(1);
    await app.settled();
    expect(await destinations.get(id)).toMatchObject({ enabled: true });
  });
});

describe('more dead destinations than there are log lines for', () => {
  const stage = new Stage();

  it('are counted when the application closes', async () => {
    const receiver = await stage.receiver({ answer: [410] });
    const app = await stage.app({
      connection: await newConnection(),
      destinations: { allowPrivateNetwork: true },
      flushAt: 1,
    });
    const disabled = new Set<string>();
    app.context.get(DeliveriesService).endpoints$.subscribe(({ type, destination }) => {
      if (type === 'disabled') disabled.add(destination);
    });
    const destinations = app.context.get(DestinationsService);
    for (let n = 0; n < 20; n++) await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
    await until(() => (disabled.size === 20 ? true : undefined));
    await app.close();
    expect(app.log.analytics.filter((line) => line.includes('was disabled: it answered 410'))).toHaveLength(
      6,
    );
    expect(app.log.analytics).toContainEqual(
      expect.stringContaining('14 more lines like this were left out'),
    );
  });
});

describe('a destination that is stored as failing', () => {
  const stage = new Stage();
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('can be changed with the version that was read before it failed', async () => {
    let passed = 0;
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + passed);
    let status = 404;
    const receiver = await stage.receiver({ answer: () => status });
    const store = new MemoryDestinationStore();
    const app = await stage.app({
      connection: await newConnection(),
      destinations: { store, allowPrivateNetwork: true },
      flushAt: 1,
    });
    const destinations = app.context.get(DestinationsService);
    const { id, version, updatedAt } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    const sendOne = async (): Promise<void> => {
      app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
      await app.analytics.flush();
      await app.settled();
    };
    const isFailing = async (expected: boolean): Promise<void> => {
      await until(async () => {
        const found = await store.findById(id);
        const isNoted = typeof found === 'object' && found.failingSince !== undefined;
        return isNoted === expected ? true : undefined;
      });
    };
    await sendOne();
    passed = 2 * HOUR;
    await sendOne();
    await isFailing(true);
    expect(await destinations.get(id)).toMatchObject({ updatedAt });
    const renamed = await destinations.update(id, { name: 'Warehouse' }, { version });
    expect(renamed).toMatchObject({ name: 'Warehouse' });
    const stale = destinations.update(id, { name: 'Lake' }, { version });
    await expect(stale).rejects.toMatchObject({ code: 'DESTINATION_CHANGED' });

    status = 200;
    await sendOne();
    await isFailing(false);
    const changed = await destinations.update(id, { name: 'Lake' }, { version: renamed.version });
    expect(changed).toMatchObject({ name: 'Lake', version: renamed.version + 2 });
  });
});

describeServersOrEmbedded('a dead destination', (backend) => {
  let receiver: Receiver;
  let app: AnalyticsApp;

  async function start(
    disableAfter: number,
    status: number,
  ): Promise<{ id: string; events: EndpointEvent[] }> {
    receiver = await Receiver.start({ answer: [status, 200] });
    app = await AnalyticsApp.start({
      connection: backend.connection,
      destinations: { allowPrivateNetwork: true, disableAfter },
      flushAt: 1,
    });
    const events: EndpointEvent[] = [];
    app.context.get(DeliveriesService).endpoints$.subscribe((event) => events.push(event));
    const { id } = await app.context
      .get(DestinationsService)
      .create({ tenant: 'acme', urls: [receiver.url()] });
    return { id, events };
  }
  afterEach(async () => {
    await app.close();
    await receiver.close();
  });

  const isDisabled = async (id: string): Promise<true | undefined> =>
    (await app.context.get(DestinationsService).get(id)).enabled ? undefined : true;

  it('is disabled and reported if it answers 410, and works again once it is enabled', async () => {
    const { id, events } = await start(Infinity, 410);
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'one' });
    await until(() => isDisabled(id));
    expect(await until(() => events.find(({ type }) => type === 'disabled'))).toMatchObject({
      destination: id,
      reason: expect.stringContaining('410'),
    });
    const destinations = app.context.get(DestinationsService);
    expect(await destinations.get(id)).toMatchObject({ disabledReason: expect.stringContaining('410') });
    await app.log.line(new RegExp(`"${id}" was disabled: it answered 410`));
    await destinations.enable(id);
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'two' });
    await receiver.received(2);
  });

  it('is disabled if it has failed for the allowed time', async () => {
    const { id } = await start(1, 404);
    await until(async () => {
      receiver.requests.length = 0;
      app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
      await app.analytics.flush();
      await app.settled();
      return isDisabled(id);
    });
  });
});

describeAnyServer("a dead destination of the application's own store", (backend) => {
  const stage = new Stage();

  it('gets a refused message only once, even if its store returns times as texts', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const store = new MemoryDestinationStore();
    await store.insert({ id: 'hook', tenant: 'acme', urls: [receiver.url()], ...TIMES, version: 1 }, 1);
    Object.assign(store.records.get('hook') ?? {}, { failingSince: String(Date.now() - HOUR) });
    const app = await stage.app({
      connection: backend.connection,
      destinations: { store, allowPrivateNetwork: true, encryptionKey: false },
      flushAt: 1,
    });
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
    expect(await app.failedJobs()).toHaveLength(1);
    expect(receiver.requests).toHaveLength(1);
  });

  it('is reported a day before and then disabled, from what the store remembers across restarts', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const store = new MemoryDestinationStore();
    const times = { ...TIMES, version: 1 };
    const hook = { id: 'hook', tenant: 'acme', urls: [receiver.url()], ...times };
    const open = async (): Promise<{ app: AnalyticsApp; events: EndpointEvent[] }> => {
      const app = await stage.app({
        connection: backend.connection,
        destinations: { store, allowPrivateNetwork: true, encryptionKey: false },
        flushAt: 1,
      });
      const events: EndpointEvent[] = [];
      app.context.get(DeliveriesService).endpoints$.subscribe((event) => events.push(event));
      app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
      return { app, events };
    };
    const reason = expect.stringContaining('every message has failed since');

    await store.insert({ ...hook, failingSince: Date.now() - 4.5 * DAY }, 1);
    const first = await open();
    await first.app.log.line(/"hook" will be disabled soon: every message has failed since/);
    expect(await until(() => first.events.find(({ type }) => type === 'disabling'))).toMatchObject({
      destination: 'hook',
      reason,
    });
    expect(await first.app.context.get(DestinationsService).get('hook')).toMatchObject({ enabled: true });
    await first.app.close();

    await store.replace({ ...hook, version: 2, failingSince: Date.now() - 5.5 * DAY });
    const second = await open();
    expect(await until(() => second.events.find(({ type }) => type === 'disabled'))).toMatchObject({
      destination: 'hook',
      reason,
    });
    expect(store.records.get('hook')).toMatchObject({ enabled: false, disabledReason: reason });
    await second.app.log.line(/"hook" was disabled: every message has failed since/);
  });
});
