import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DeadDestinations } from '../../src/stored-destinations/dead-destinations.js';
import { DeliveriesService, DestinationsService, type EndpointEvent } from '../../src/index.js';
import type { DestinationRecord } from '../../src/options/destination-store.js';
import type { QueuedMessage } from '../../src/queue/batch-job.js';
import { AnalyticsApp } from '../support/analytics-app.js';
import { describeBackend } from '../support/describe-backend.js';
import { Receiver } from '../support/receiver.js';
import { until } from '../support/until.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const RECORD: DestinationRecord = { id: 'a', urls: [] };

function failing(status: number): { delivered: []; failed: QueuedMessage[] } {
  const outcome = { url: 'hash', class: 'permanent' as const, status, attempt: 1, at: 0, duration: 1 };
  return { delivered: [], failed: [{ id: 'm', body: '{}', outcomes: [outcome] }] };
}
const DELIVERED = { delivered: ['m'], failed: [] };

describe('a destination that takes nothing', () => {
  let now: number;
  let told: string[];
  let dead: DeadDestinations;

  beforeEach(() => {
    now = 1_795_253_400_000;
    told = [];
    const say = (text: string): Promise<void> => {
      told.push(text);
      return Promise.resolve();
    };
    const parts = {
      disableAfter: 5 * DAY,
      record: (_id: string, since: number | undefined) => say(since === undefined ? 'recovered' : 'failing'),
      disable: (_id: string, reason: string) => say(`disabled: ${reason}`),
      tell: ({ type }: { type: string }) => void say(type),
      onFailed: () => void say('failed'),
    };
    dead = new DeadDestinations(parts, () => now);
  });

  async function after(time: number, attempt: Parameters<DeadDestinations['attempted']>[1], since?: number) {
    now += time;
    dead.attempted({ ...RECORD, ...(since !== undefined && { failingSince: since }) }, attempt);
    await new Promise((resolve) => setImmediate(resolve));
  }

  it('is disabled after five days in which every message failed, with a warning a day before', async () => {
    const since = new Date(now).toISOString();
    await after(0, failing(404));
    await after(2 * HOUR, failing(404));
    expect(told).toEqual(['failing']);
    await after(4 * DAY, failing(404));
    await after(HOUR, failing(404));
    expect(told).toEqual(['failing', 'disabling']);
    await after(DAY, failing(404));
    const reason = `disabled: every message has failed since ${since}`;
    expect(told).toEqual(['failing', 'disabling', reason, 'disabled']);
  });

  it('begins anew when it takes a message, of which the store is told if it knew', async () => {
    await after(0, failing(404));
    await after(DAY, failing(404));
    await after(0, DELIVERED);
    await after(4 * DAY, failing(404));
    expect(told).toEqual(['failing', 'recovered']);
    await after(0, DELIVERED);
    await after(4 * DAY, failing(404));
    expect(told).toEqual(['failing', 'recovered']);
  });

  it('is remembered by the store across a restart', async () => {
    await after(0, failing(404), now - 6 * DAY);
    expect(told.at(-1)).toBe('disabled');
  });

  it('is disabled at once when it says that it is gone', async () => {
    await after(0, failing(410));
    expect(told).toEqual(['disabled: it answered 410, which means that it is gone', 'disabled']);
  });
});

describeBackend('a dead destination', (backend) => {
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

  it('that answers 410 is disabled, which is told, and works again once it is enabled', async () => {
    const { id, events } = await start(Infinity, 410);
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'one' });
    await until(() => isDisabled(id));
    expect(await until(() => events.find(({ type }) => type === 'disabled'))).toMatchObject({
      destination: id,
      reason: expect.stringContaining('410'),
    });
    const destinations = app.context.get(DestinationsService);
    expect(await destinations.get(id)).toMatchObject({ disabledReason: expect.stringContaining('410') });
    expect(await app.log.line(/was disabled: it answered 410/)).toContain(id);
    await destinations.enable(id);
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'two' });
    await receiver.received(2);
  });

  it('is warned of a day before, and disabled, by what the store remembers across restarts', async () => {
    receiver = await Receiver.start({ answer: [404] });
    const store = new MemoryDestinationStore();
    const times = { createdAt: 0, updatedAt: 0, version: 1 };
    const hook = { id: 'hook', tenant: 'acme', urls: [receiver.url()], ...times };
    const open = async (): Promise<EndpointEvent[]> => {
      app = await AnalyticsApp.start({
        connection: backend.connection,
        destinations: { store, allowPrivateNetwork: true, encryptionKey: false },
        flushAt: 1,
      });
      const events: EndpointEvent[] = [];
      app.context.get(DeliveriesService).endpoints$.subscribe((event) => events.push(event));
      app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
      return events;
    };
    const reason = expect.stringContaining('every message has failed since');

    await store.insert({ ...hook, failingSince: Date.now() - 4.5 * DAY }, 1);
    const first = await open();
    await app.log.line(/"hook" will be disabled in a day: every message has failed since/);
    expect(await until(() => first.find(({ type }) => type === 'disabling'))).toMatchObject({
      destination: 'hook',
      reason,
    });
    expect(await app.context.get(DestinationsService).get('hook')).toMatchObject({ enabled: true });
    await app.close();

    await store.replace({ ...hook, version: 2, failingSince: Date.now() - 5.5 * DAY });
    const second = await open();
    expect(await until(() => second.find(({ type }) => type === 'disabled'))).toMatchObject({
      destination: 'hook',
      reason,
    });
    expect(store.records.get('hook')).toMatchObject({ enabled: false, disabledReason: reason });
    await app.log.line(/"hook" was disabled: every message has failed since/);
  });

  it('that failed for as long as it may is disabled', async () => {
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
