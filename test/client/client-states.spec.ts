import { describe, expect, it } from '@jest/globals';
import { StaticRouter } from '../../src/client/router.js';
import { clientUnderTest, connectionTo, ids } from './client-under-test.js';

/** Milliseconds that the default `shutdownTimeout` leaves for the messages. */
const PATIENCE = 9_750;
const RECEIVED = { type: 'track', userId: 'u1', event: 'E', timestamp: '2026-11-21T09:30:00.123Z' };

describe('a client that accepts', () => {
  it('keeps messages until a batch is full or `flushAfter` has passed, and hands over nothing before', async () => {
    const { clock, queue, track } = clientUnderTest();
    track(...ids(20, 'full'), 'alone');
    await clock.pass(4_999);
    expect(queue.messagesFor('one')).toEqual(ids(20, 'full'));
    await clock.pass(1);
    expect(queue.messagesFor('one')).toEqual([...ids(20, 'full'), 'alone']);
  });

  it('starts adds 10 ms apart and one at a time, and merges messages that are flushed meanwhile', async () => {
    const { clock, queue, track } = clientUnderTest({ options: { flushAt: 1 } });
    queue.delay = 3;
    track('first');
    await clock.pass(1);
    track(...ids(150, 'second'));
    await clock.pass(8);
    expect(queue.asked).toHaveLength(1);
    await clock.pass(1);
    expect(queue.asked).toHaveLength(2);
    await clock.pass(3);
    expect(queue.jobs.map(({ batches }) => batches[0]?.messages.length)).toEqual([1, 150]);
  });

  it('repeats a failed add unchanged, under the same id, until the queue has it', async () => {
    const { client, clock, queue, track, told } = clientUnderTest();
    queue.error = new Error('away');
    track('m');
    const flushed = client.flush();
    await clock.pass(750);
    expect(told.addsFailed).toBe(4);
    queue.error = undefined;
    await clock.pass(800);
    expect(await flushed).toEqual({ queued: 1, refused: 0, pending: 0 });
    expect(new Set(queue.asked.flatMap((jobs) => jobs.map(({ jobId }) => jobId))).size).toBe(1);
    expect(queue.messagesFor('one')).toEqual(['m']);
  });

  it('ends a flush once every message before it is queued, whatever comes after it', async () => {
    const { client, clock, queue, track } = clientUnderTest();
    queue.delay = 30;
    track('before');
    const flushed = client.flush();
    await clock.pass(1);
    track('after');
    await clock.pass(30);
    expect(await flushed).toEqual({ queued: 1, refused: 0, pending: 0 });
    expect(queue.messagesFor('one')).toEqual(['before']);
  });

  it('counts a message for two destinations as queued once both have it', async () => {
    const connections = [connectionTo('one'), connectionTo('two')];
    const { client, clock, queue, track } = clientUnderTest({
      router: () => new StaticRouter({ connections }),
      // More messages than one add holds, so that some destinations have a message before the others.
      options: { flushAt: 1_000 },
    });
    queue.delay = 30;
    for (const id of ids(900)) client.take('web', 'track', { userId: 'u1', event: 'E', messageId: id, properties: { text: 'x'.repeat(700) } }); // prettier-ignore
    track('last');
    const flushed = client.flush({ timeout: 45 });
    await clock.pass(45);
    const { queued, pending } = await flushed;
    expect(queue.messagesFor('one').length).toBeGreaterThan(0);
    expect(queued + pending).toBe(901);
    const both = queue.messagesFor('one').filter((id) => queue.messagesFor('two').includes(id));
    expect(queued).toBe(both.length);
  });

  it('reports how many messages a flush that timed out has left, and leaves no timer behind', async () => {
    const { client, clock, queue, track } = clientUnderTest();
    queue.delay = Infinity;
    track('a', 'b');
    const flushed = client.flush({ timeout: 300 });
    await clock.pass(0);
    const timers = clock.pending;
    await clock.pass(300);
    expect(await flushed).toEqual({ queued: 0, refused: 0, pending: 2 });
    expect(clock.pending).toBe(timers - 1);
  });

  it.each([-1, NaN, -Infinity, '100', null])('refuses a flush with a timeout of %p', async (timeout) => {
    const { client } = clientUnderTest();
    await expect(client.flush({ timeout: timeout as number })).rejects.toMatchObject({
      code: 'INVALID_MESSAGE',
      field: 'timeout',
    });
  });

  it('waits without limit for a flush with a timeout of Infinity', async () => {
    const { client, clock, queue, track } = clientUnderTest();
    queue.delay = 100_000;
    track('m');
    const flushed = client.flush({ timeout: Infinity });
    await clock.pass(100_000);
    expect(await flushed).toEqual({ queued: 1, refused: 0, pending: 0 });
  });

  it('counts a message as refused if a destination does not take it now, and sends it to the others', async () => {
    const { client, clock, queue, track, told } = clientUnderTest({
      router: () => new StaticRouter({ connections: [connectionTo('one'), connectionTo('full')] }),
      admission: { refusal: ({ destination }) => (destination === 'full' ? 'full is full' : undefined) },
    });
    track('m');
    const flushed = client.flush();
    await clock.pass(10);
    expect(await flushed).toEqual({ queued: 1, refused: 1, pending: 0 });
    expect(told.refused).toEqual(['full is full']);
    expect([queue.messagesFor('one'), queue.messagesFor('full')]).toEqual([['m'], []]);
  });

  it('reports once for a message why destinations of its tenant are full, however many there are', () => {
    const connections = ['one', 'two'].map((id) => ({ ...connectionTo(id), wasAddedAtRunTime: true }));
    const { track, told } = clientUnderTest({
      router: () => new StaticRouter({ connections: [connectionTo('healthy'), ...connections] }),
      admission: {
        refusal: ({ destination }) => (destination === 'healthy' ? undefined : `${destination} is full`),
      },
    });
    track('m');
    expect(told.refused).toEqual([expect.stringContaining('added at run time')]);
  });

  it('refuses a message that no destination takes now', async () => {
    const { client, clock, track, told } = clientUnderTest({ admission: { refusal: () => 'it is full' } });
    track('m');
    const reasons: string[] = [];
    client.received.take(client.received.begin(), {
      ...{ source: 'web', fields: RECEIVED },
      onRefused: ({ reason }) => reasons.push(reason),
    });
    expect(reasons).toEqual(['it is full']);
    expect(await client.awaited.takeAll('web', 'identify', [{ userId: 'u1' }])).toMatchObject([
      { place: 0, error: { code: 'MESSAGE_REFUSED', reason: 'it is full' } },
    ]);
    await clock.pass(0);
    expect(await client.flush()).toEqual({ queued: 0, refused: 1, pending: 0 });
    expect(client.refused).toBe(3);
    expect(told.refused).toEqual(['it is full', 'it is full', 'it is full']);
  });
});

describe('a client that drains', () => {
  it('hands over each message at once, and lets callers wait until the deadline', async () => {
    const { client, clock, queue, track } = clientUnderTest();
    queue.delay = 30;
    client.drain(PATIENCE);
    await clock.pass(5_500);
    track(...ids(50));
    await clock.pass(100);
    expect(queue.messagesFor('one')).toEqual(ids(50));

    queue.delay = Infinity;
    track('late');
    const flushed = client.flush();
    const received = client.received.begin();
    client.received.take(received, { source: 'web', fields: RECEIVED });
    const handedOver = client.received.handOver(received, 5_000);
    await clock.pass(PATIENCE - 5_601);
    let isOver = false;
    void Promise.all([flushed, handedOver]).then(() => (isOver = true));
    await clock.pass(0);
    expect(isOver).toBe(false);
    await clock.pass(1);
    expect(await flushed).toEqual({ queued: 0, refused: 0, pending: 1 });
    expect(await handedOver).toBe(false);
  });

  it('lets callers wait for a second at most after the deadline', async () => {
    const { client, clock, queue, track } = clientUnderTest();
    client.drain(PATIENCE);
    await clock.pass(PATIENCE);
    queue.delay = 999;
    track('late');
    const flushed = client.flush();
    await clock.pass(999);
    expect(await flushed).toEqual({ queued: 1, refused: 0, pending: 0 });

    queue.delay = Infinity;
    track('lost');
    const taken = client.awaited.takeAll('web', 'identify', [{ userId: 'u1' }]);
    const refused = expect(taken).rejects.toMatchObject({ code: 'ANALYTICS_CLOSED' });
    const pending = client.flush({ timeout: 60_000 });
    await clock.pass(1_000);
    expect(await pending).toEqual({ queued: 0, refused: 0, pending: 2 });
    await refused;
  });

  it('repeats a failed add at once and then often, so that messages reach a queue that recovers', async () => {
    const { client, clock, queue, track } = clientUnderTest();
    queue.error = new Error('away');
    track('m');
    void client.flush();
    await clock.pass(20_000);
    const before = queue.asked.length;
    client.drain(PATIENCE);
    await clock.pass(0);
    expect(queue.asked).toHaveLength(before + 1);
    await clock.pass(9_000);
    queue.error = undefined;
    await clock.pass(250);
    expect(queue.messagesFor('one')).toEqual(['m']);
  });
});

describe('a client that closes', () => {
  it('uses all of its time, and loses nothing if the queue answers in the last millisecond', async () => {
    const { client, clock, queue, track } = clientUnderTest();
    queue.delay = PATIENCE - 1;
    client.drain(PATIENCE);
    track(...ids(30));
    const closed = client.close(PATIENCE);
    await clock.pass(PATIENCE);
    await closed;
    expect(queue.messagesFor('one')).toEqual(ids(30));
    expect(client.losses).toMatchObject({ messages: 0, unconfirmed: 0 });
  });

  it('uses all of the time that it is given even if the deadline passes meanwhile', async () => {
    const { client, clock, queue, track } = clientUnderTest();
    client.drain(PATIENCE);
    await clock.pass(PATIENCE - 1);
    queue.error = new Error('away');
    track('late');
    const closed = client.close(500);
    await clock.pass(100);
    queue.error = undefined;
    await clock.pass(400);
    await closed;
    expect(queue.messagesFor('one')).toEqual(['late']);
    expect(client.losses).toMatchObject({ messages: 0 });
  });

  it('reports lost messages by destination and unconfirmed ones, and corrects both when some arrive late', async () => {
    const connections = [connectionTo('one'), connectionTo('two'), connectionTo('two', 'other')];
    const { client, clock, queue, track } = clientUnderTest({
      router: () => new StaticRouter({ connections }),
    });
    queue.delay = 1_100;
    track('begun');
    void client.flush();
    await clock.pass(5);
    client.take('other', 'track', { userId: 'u1', event: 'E' });
    const closed = client.close(1_000);
    await clock.pass(1_000);
    await closed;
    expect(client.losses).toEqual({
      messages: 2,
      byDestination: new Map([
        ['one', 1],
        ['two', 2],
      ]),
      unconfirmed: 2,
      unrouted: 0,
    });
    await clock.pass(100);
    expect(client.losses).toMatchObject({
      messages: 1,
      byDestination: new Map([['two', 1]]),
      unconfirmed: 0,
    });
  });

  it.each(['hangs', 'fails'])('keeps no process alive afterwards, while the queue %s', async (what) => {
    const { client, clock, queue, track } = clientUnderTest();
    if (what === 'hangs') queue.delay = Infinity;
    else queue.error = new Error('away');
    track(...ids(30));
    void client.flush({ timeout: 60_000 });
    await clock.pass(3_000);
    client.drain(950);
    const closed = client.close(950);
    await clock.pass(1_000);
    await closed;
    expect(clock.pending).toBe(0);
  });

  it('throws ANALYTICS_CLOSED in every method, and closes once', async () => {
    const { client, clock } = clientUnderTest();
    const closed = client.close(100);
    await clock.pass(100);
    await Promise.all([closed, client.close(100)]);
    const code = expect.objectContaining({ code: 'ANALYTICS_CLOSED' });
    expect(() => client.take('web', 'track', { userId: 'u1', event: 'E' })).toThrow(code);
    expect(() => client.received.take(client.received.begin(), { source: 'web', fields: {} })).toThrow(code);
    expect(() => client.deletions.take({ names: ['web'], areAll: true }, { userId: 'u1' })).toThrow(code);
    expect(() => client.usageOf('web')).toThrow(code);
    await expect(client.flush()).rejects.toMatchObject({ code: 'ANALYTICS_CLOSED' });
    await expect(client.awaited.takeAll('web', 'identify', [{ userId: 'u1' }])).rejects.toMatchObject({
      code: 'ANALYTICS_CLOSED',
    });
  });
});
