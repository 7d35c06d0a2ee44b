import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { filter, firstValueFrom } from 'rxjs';
import { DeliveriesService, DestinationsService, type MessageOutcome } from '../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeAnyServer, describeRedis } from '../support/describe-backend.js';
import { messageIds } from '../support/message-ids.js';
import type { Answer, Receiver } from '../support/receiver.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

/** Retry window with short delays: the first retry of a message comes after 35 ms. */
const RETRY_WINDOW = 100_000;
/** The answer of a URL that is down, which asks for another request after a second. */
const DOWN: Answer = { status: 503, headers: { 'retry-after': '1' } };
/** A URL that never answers. */
const HANGING: Answer = () => undefined;
const FAILURES_UNTIL_DOWN = 5;
/** Requests to a URL that is down while messages wait for it. */
const PROBES = 3;
const WAITING = messageIds('waiting', 20);
/** Redis commands in the second between two of those requests. Jobs in a loop would make tens of thousands. */
const MOST_COMMANDS = 2_000;

/** The id of each request, sorted. */
function idsOf({ requests }: Receiver): string[] {
  return requests.map(({ headers }) => String(headers['webhook-id'])).sort();
}

/** Tracks each message in a job of its own. */
async function track(app: AnalyticsApp, ids: readonly string[], tenant?: string): Promise<void> {
  const analytics = tenant === undefined ? app.analytics : app.analytics.tenant(tenant);
  for (const messageId of ids) {
    analytics.track({ userId: 'u1', event: 'E', messageId });
    await app.analytics.flush();
  }
}

/** Tracks messages until a URL has gone down. */
async function whenDown(app: AnalyticsApp, tenant?: string): Promise<void> {
  const { endpoints$ } = app.context.get(DeliveriesService);
  const down = firstValueFrom(endpoints$.pipe(filter(({ type }) => type === 'down')));
  await track(app, messageIds('first', FAILURES_UNTIL_DOWN), tenant);
  await down;
}

describeAnyServer('messages that one URL has refused while another URL is down', (backend) => {
  const stage = new Stage();
  let refusing: Receiver;
  let other: Receiver;
  let answerOfOther: Answer;

  beforeEach(async () => {
    answerOfOther = DOWN;
    refusing = await stage.receiver({
      answer: ({ headers }) => (String(headers['webhook-id']).startsWith('taken') ? 200 : 404),
    });
    other = await stage.receiver({ answer: () => answerOfOther });
  });

  function start(options: Partial<AppOptions> = {}): Promise<AnalyticsApp> {
    return stage.app({
      connection: backend.connection,
      webhooks: webhooksTo([refusing, other], { retryWindow: RETRY_WINDOW }),
      ...options,
    });
  }

  /** Tracks messages that wait for the URL that is down, until it was asked several times. */
  async function wait(app: AnalyticsApp, tenant?: string): Promise<void> {
    await whenDown(app, tenant);
    await track(app, WAITING, tenant);
    await other.received(other.requests.length + PROBES);
  }

  /** Resolves to the next outcome of the first message that waits. */
  function outcomeOfFirst(app: AnalyticsApp): Promise<MessageOutcome | undefined> {
    const { outcomes$ } = app.context.get(DeliveriesService);
    const ofFirst = outcomes$.pipe(
      filter(({ messageId, destination }) => messageId === 'waiting-0' && destination !== 'taking'),
    );
    return firstValueFrom(ofFirst, { defaultValue: undefined });
  }

  const ofWaiting = (receiver: Receiver): string[] =>
    idsOf(receiver).filter((id) => id.startsWith('waiting'));

  it('are not sent to the first URL again, and go to the other URL when it is up', async () => {
    const app = await start();
    await wait(app);
    // Other messages for the destination go on meanwhile.
    const taken = messageIds('taken', 20);
    await track(app, taken);
    await until(() =>
      idsOf(refusing).filter((id) => id.startsWith('taken')).length === 20 ? true : undefined,
    );
    answerOfOther = 200;
    await app.settled();
    expect(ofWaiting(refusing)).toEqual([...WAITING].sort());
    expect(new Set(ofWaiting(other))).toEqual(new Set(WAITING));
    expect(await app.context.get(DeliveriesService).counts()).toMatchObject({ failed: 0 });
  });

  it('fail for good when the other URL refuses them as well, with both answers', async () => {
    const app = await start();
    await wait(app);
    answerOfOther = 410;
    await app.settled();
    const deliveries = app.context.get(DeliveriesService);
    const failed = await deliveries.failed({ messageIds: WAITING });
    expect(failed.map(({ outcomes }) => outcomes.map(({ status }) => status))).toEqual(
      WAITING.map(() => [404, 410]),
    );
    expect(ofWaiting(refusing)).toEqual([...WAITING].sort());
  });

  it('are reported as retried, with the answer of the URL that has refused them', async () => {
    answerOfOther = { status: 503, headers: { 'retry-after': '60' } };
    const app = await start();
    await whenDown(app);
    const told = outcomeOfFirst(app);
    await track(app, WAITING);
    expect(await told).toMatchObject({ class: 'retry', outcomes: [{ status: 404 }] });
  });

  it('wait for the remaining URLs of five, and are delivered when one of these takes them', async () => {
    const alsoRefusing = await stage.receiver({ answer: [301] });
    const down = await Promise.all([0, 1].map(() => stage.receiver({ answer: [DOWN] })));
    const urls = [refusing, ...down, alsoRefusing, other];
    const app = await start({ webhooks: webhooksTo(urls, { retryWindow: RETRY_WINDOW }) });
    await wait(app);
    await Promise.all(down.map((receiver) => receiver.received(FAILURES_UNTIL_DOWN + PROBES)));
    answerOfOther = 200;
    await app.settled();
    expect([refusing, alsoRefusing].map(ofWaiting)).toEqual([[...WAITING].sort(), [...WAITING].sort()]);
    expect(await app.context.get(DeliveriesService).counts()).toMatchObject({ failed: 0 });
  });

  it.each([
    ['in jobs of their own', false],
    ['in jobs that destinations have shared', true],
  ])('are not sent to the first URL again after a shutdown breaks off the rest, %s', async (_, isShared) => {
    answerOfOther = HANGING;
    const taking = await stage.receiver();
    const options: Partial<AppOptions> = {
      webhooks: [
        webhooksTo([refusing, other], { id: 'refusing' }),
        ...(isShared ? [webhooksTo(taking, { id: 'taking' })] : []),
      ],
      shutdownTimeout: 2_000,
    };
    const before = await start(options);
    const refused = outcomeOfFirst(before);
    await track(before, ['waiting-0']);
    await Promise.all([refusing.received(1), other.received(1)]);
    await before.close();
    answerOfOther = 200;
    const after = await start(options);
    await after.settled();
    expect([refusing, other].map(ofWaiting)).toEqual([['waiting-0'], ['waiting-0', 'waiting-0']]);
    expect(await refused).toMatchObject({ class: 'retry', outcomes: [{ status: 404, attempt: 1 }] });
    expect(await after.context.get(DeliveriesService).counts()).toMatchObject({ failed: 0 });
  });

  it('fail for good when the URL that is down is removed', async () => {
    const app = await start({ destinations: { allowPrivateNetwork: true }, webhooks: [] });
    const destinations = app.context.get(DestinationsService);
    const urls = [refusing.url(), other.url()];
    const { id } = await destinations.create({ tenant: 'acme', urls, retryWindow: RETRY_WINDOW });
    await wait(app, 'acme');
    await destinations.update(id, { urls: [refusing.url()] });
    await app.settled();
    const failed = await app.context.get(DeliveriesService).failed({ messageIds: WAITING });
    expect(failed).toHaveLength(WAITING.length);
    expect(ofWaiting(refusing)).toEqual([...WAITING].sort());
  });
});

describeRedis('Redis, while refused messages wait for another URL', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;

  beforeAll(async () => {
    server = await RedisServer.create();
    admin = new Redis(server.url());
  });
  afterAll(async () => {
    admin.disconnect();
    await server.dispose();
  });

  async function commands(): Promise<number> {
    const stats = await admin.info('commandstats');
    const calls = Array.from(stats.matchAll(/calls=(\d+)/g), ([, count]) => Number(count));
    return calls.reduce((total, count) => total + count, 0);
  }

  it.each([
    ['in jobs of their own', false],
    ['in jobs that destinations have shared', true],
  ])('is left alone if the messages are %s', async (_, isShared) => {
    const refusing = await stage.receiver({ answer: [404] });
    const down = await stage.receiver({ answer: [DOWN] });
    const taking = await stage.receiver();
    const app = await stage.app({
      connection: server.url(isShared ? 1 : 0),
      webhooks: [
        webhooksTo([refusing, down], { id: 'refusing', retryWindow: RETRY_WINDOW }),
        ...(isShared ? [webhooksTo(taking, { id: 'taking' })] : []),
      ],
    });
    await whenDown(app);
    await track(app, WAITING);
    await down.received(FAILURES_UNTIL_DOWN + PROBES - 1);
    const before = await commands();
    await down.received(FAILURES_UNTIL_DOWN + PROBES);
    expect((await commands()) - before).toBeLessThan(MOST_COMMANDS);
    expect(idsOf(refusing).filter((id) => id.startsWith('waiting'))).toEqual([...WAITING].sort());
  });
});
