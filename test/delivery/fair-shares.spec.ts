import { expect, it } from '@jest/globals';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { type Backend, describeServersOrEmbedded } from '../support/describe-backend.js';
import { percentile } from '../support/percentile.js';
import type { ReceivedRequest, ReceiverOptions } from '../support/receiver.js';
import { until } from '../support/until.js';
import { destinationsBySource, Stage } from '../support/stage.js';

/** Milliseconds until a slow receiver answers. */
const ANSWER_TIME = 100;
const WAITING = 2_000;
/** Messages for each of several destinations, which take seconds together. */
const EACH = 1_000;
/** Requests to each of these destinations before their shares are measured, and to all during the measurement. */
const BEGUN = 50;
const MEASURED = 1_500;
const FRESH = 20;
/** Milliseconds between two fresh messages. */
const INTERVAL = 50;
/**
 * Requests to the slow destination that may overtake a fresh message: a fifth of the waiting messages. A message behind
 * all of them would be overtaken by all. Counting requests keeps a busy machine from failing the test.
 */
const OVERTAKEN = WAITING / 5;

const SLOW: ReceiverOptions = { answer: () => after(ANSWER_TIME) };

describeServersOrEmbedded('messages that wait for one destination', (backend) => {
  const stage = new Stage();

  it('do not delay messages for another destination, which are sent at once', async () => {
    const slow = await stage.receiver(SLOW);
    const fresh = new FreshMessages(() => slow.requests.length);
    const idle = await stage.receiver({ answer: fresh.answer });
    const app = await appFor(stage, backend, { slow: slow.url(), idle: idle.url() });
    await fill(app, 'slow');
    await slow.received(1);
    expect(percentile(await fresh.sendTo(app, 'idle'), 0.9)).toBeLessThan(OVERTAKEN);
  });

  it('leave sockets to another destination at the same origin', async () => {
    const slow: unknown[] = [];
    const fresh = new FreshMessages(() => slow.length);
    const receiver = await stage.receiver({
      answer: (request) => {
        if (request.url !== '/slow') return fresh.answer(request);
        slow.push(request);
        return after(ANSWER_TIME);
      },
    });
    const urls = { slow: receiver.url('/slow'), idle: receiver.url('/idle') };
    const app = await appFor(stage, backend, urls);
    await fill(app, 'slow');
    await receiver.received(1);
    expect(percentile(await fresh.sendTo(app, 'idle'), 0.9)).toBeLessThan(OVERTAKEN);
  });

  it('do not delay other destinations when their receiver hangs', async () => {
    const hanging = await stage.receiver({ answer: () => () => undefined });
    const fresh = new FreshMessages(() => hanging.requests.length);
    const idle = await stage.receiver({ answer: fresh.answer });
    const app = await appFor(stage, backend, { hanging: hanging.url(), idle: idle.url() });
    await fill(app, 'hanging');
    await hanging.received(1);
    expect(percentile(await fresh.sendTo(app, 'idle'), 0.9)).toBeLessThan(OVERTAKEN);
  });

  it('keep no sockets of a URL that has answered while another URL of their destination hangs', async () => {
    const shared = await stage.receiver();
    const hanging = await stage.receiver({ answer: () => () => undefined });
    const urls = { half: [shared.url('/half'), hanging.url()], idle: [shared.url('/idle')] };
    const app = await stage.app({
      connection: backend.connection,
      shutdownTimeout: 1_000,
      flushAfter: 10,
      // As many as a destination has requests at first.
      connections: 4,
      sources: Object.keys(urls).map((name) => ({ name, writeKey: name })),
      webhooks: Object.entries(urls).map(([id, own]) => ({
        id,
        urls: own,
        sources: [id],
        allowPrivateNetwork: true,
        // Longer than the test may take.
        timeout: 300_000,
      })),
    });
    await fill(app, 'half', EACH);
    await hanging.received(4);
    await fill(app, 'idle', FRESH);
    await until(() => shared.requests.filter(({ url }) => url === '/idle').length === FRESH || undefined);
  });

  it('get a fair share of the work beside messages for other slow destinations', async () => {
    let answer: () => void = () => undefined;
    const haveBegun = new Promise<void>((resolve) => (answer = resolve));
    const slow: ReceiverOptions = { answer: () => haveBegun.then(() => after(ANSWER_TIME)) };
    const receivers = await Promise.all(Array.from({ length: 5 }, () => stage.receiver(slow)));
    const urls = receivers.map((receiver, index): [string, string] => [`slow-${index}`, receiver.url()]);
    const app = await appFor(stage, backend, Object.fromEntries(urls));
    // One destination after the other, so that a process that works from the front would serve only the first.
    for (const [name] of urls) await fill(app, name, EACH);
    // Otherwise the first destinations might run dry before they are measured if filling takes long.
    await Promise.all(receivers.map((receiver) => receiver.received(1)));
    answer();
    const served = (): number[] => receivers.map(({ requests }) => requests.length);
    await until(() => (Math.min(...served()) >= BEGUN ? true : undefined));
    const before = served();
    await until(() => (sum(served()) - sum(before) >= MEASURED ? true : undefined));
    const counts = served().map((count, index) => count - (before[index] ?? 0));
    const behind = counts.filter((count) => count <= 0.5 * Math.max(...counts));
    // If the test fails, these numbers show who was served when.
    const shares = { before: String(before), counts: String(counts) };
    expect({ ...shares, behind }).toEqual({ ...shares, behind: [] });
  });
});

/** Starts an application in which each destination has a source of its name. */
function appFor(stage: Stage, backend: Backend, urls: Record<string, string>): Promise<AnalyticsApp> {
  return stage.app({
    connection: backend.connection,
    shutdownTimeout: 1_000,
    flushAfter: 10,
    ...destinationsBySource(urls, { timeout: 60_000 }),
  });
}

async function fill(app: AnalyticsApp, source: string, count = WAITING): Promise<void> {
  for (let n = 0; n < count; n++) app.analytics.source(source).track({ userId: 'u1', event: 'Waited' });
  await app.analytics.flush();
}

/** Messages to an idle destination, with the number of requests to another destination that overtook each of them. */
class FreshMessages {
  private readonly begun = new Map<string, number>();
  private readonly overtaken: number[] = [];
  private allArrived: () => void = () => undefined;

  /** @param others returns the number of requests that the other destination has got so far */
  constructor(private readonly others: () => number) {}

  readonly answer = ({ headers }: ReceivedRequest): number => {
    const before = this.begun.get(String(headers['webhook-id']));
    if (before !== undefined) this.overtaken.push(this.others() - before);
    if (this.overtaken.length === FRESH) this.allArrived();
    return 200;
  };

  /** Sends the messages at intervals. Resolves when all have arrived. */
  async sendTo(app: AnalyticsApp, source: string): Promise<number[]> {
    const arrived = new Promise<void>((resolve) => (this.allArrived = resolve));
    for (let n = 0; n < FRESH; n++) {
      const id = app.analytics.source(source).track({ userId: 'u1', event: 'Fresh' });
      this.begun.set(id, this.others());
      await after(INTERVAL);
    }
    await arrived;
    return this.overtaken;
  }
}

function after(milliseconds: number): Promise<number> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds, 200));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
