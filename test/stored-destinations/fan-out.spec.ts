import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { AnalyticsApp } from '../support/analytics-app.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { Receiver } from '../support/receiver.js';
import { until } from '../support/until.js';

const DESTINATIONS = 100;
const MARK = 'a body that is stored';

describeServersOrEmbedded('a message to a hundred destinations of one tenant', (backend) => {
  let release: () => void;
  let receiver: Receiver;
  let app: AnalyticsApp;

  beforeEach(async () => {
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    receiver = await Receiver.start({
      answer: async (_, index) => {
        await released;
        return index % 2 === 0 ? 200 : 503;
      },
    });
    app = await AnalyticsApp.start({
      connection: backend.connection,
      destinations: { allowPrivateNetwork: true, encryptionKey: false, limitPerTenant: DESTINATIONS },
    });
  });
  afterEach(async () => {
    release();
    await app.close();
    await receiver.close();
  });

  it('is stored once per job, and reaches each of them', async () => {
    const destinations = app.context.get(DestinationsService);
    for (let n = 0; n < DESTINATIONS; n++) {
      await destinations.create({ tenant: 'acme', urls: [receiver.url(`/${n}`)], timeout: 60_000 });
    }
    /** Resolves to how often each job holds the body. */
    const stored = async (): Promise<number[]> => {
      const jobs = await app.queue.getJobs(['wait', 'prioritized', 'active', 'delayed']);
      return jobs.map(({ data }) => JSON.stringify(data).split(MARK).length - 1).filter((times) => times > 0);
    };
    const tracks = (messages: number, text: string): Promise<unknown> => {
      for (let n = 0; n < messages; n++) {
        app.analytics.tenant('acme').track({ userId: 'u1', event: 'E', properties: { text } });
      }
      return app.analytics.flush();
    };
    await tracks(1, MARK);
    expect(await stored()).toEqual([1]);
    // A job has at most 200 messages to deliver, counted for each destination, so that a crash repeats no more of them.
    // Five messages to a hundred destinations are three jobs, each with all five bodies.
    await tracks(5, `another, ${MARK}`);
    expect((await stored()).sort()).toEqual([1, 5, 5, 5]);
    release();
    await until(() => (gotIt(receiver).size === DESTINATIONS ? true : undefined));
    const bodies = new Set(receiver.requests.map(({ body }) => body.toString()));
    expect([...bodies]).toContainEqual(expect.stringContaining(`"${MARK}"`));
  });
});

/** Returns the paths of the requests. */
function gotIt({ requests }: Receiver): Set<string> {
  return new Set(requests.map(({ url }) => url));
}
