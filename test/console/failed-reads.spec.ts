import { describe, expect, it } from '@jest/globals';
import { DeliveriesService, type FailedMessage, type FailedQuery } from '../../src/index.js';
import type { Api } from '../../src/console/page/api.js';
import { goneAmong, MAX_ANSWER, readLatest } from '../../src/console/page/failed-reads.js';
import { jobIdFor } from '../../src/queue/job-id.js';
import { putFailedJobs } from '../support/failed-jobs.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';

const DESTINATION = 'crm';
const MESSAGES = 350;
const { signal } = new AbortController();

describe('a page that reads what has failed, a hundred messages at a time,', () => {
  const stage = new Stage();
  const newConnection = quickConnections();
  let deliveries: DeliveriesService;
  /** Called before each request. */
  let before: () => Promise<unknown>;

  async function keep(count: number): Promise<void> {
    const options = {
      connection: await newConnection(),
      webhooks: { id: DESTINATION, urls: ['https://receiver.example'] },
    };
    const jobs = Array.from({ length: count }, (_, n) => ({
      jobId: jobIdFor(DESTINATION, `job-${n}`),
      failedRetention: 604_800_000,
      batches: [
        {
          destination: DESTINATION,
          source: 'default',
          messages: [{ id: `message-${n}`, body: '{"version":1,"type":"track"}', outcomes: [] }],
        },
      ],
    }));
    await putFailedJobs(options, jobs);
    deliveries = (await stage.app({ ...options, worker: false })).context.get(DeliveriesService);
    before = () => Promise.resolve();
  }

  const api: Pick<Api, 'failed'> = {
    failed: async (destination, fields) => {
      const { start = 0, limit = 0, ...query } = fields as FailedQuery & { limit?: number };
      await before();
      const end = start + limit - 1;
      return { messages: await deliveries.failed({ destination, waiting: false, ...query, start, end }) };
    },
  };
  const read = async (count: number): Promise<string[]> =>
    idsOf((await readLatest(api, { id: DESTINATION, filter: {}, count }, signal)).messages);
  const kept = async (count: number): Promise<string[]> =>
    idsOf(await deliveries.failed({ destination: DESTINATION, end: count - 1, waiting: false }));
  const idsOf = (messages: readonly FailedMessage[]): string[] => messages.map(({ messageId }) => messageId);

  /** Replays messages before a later page is read. @param from position of the first of them in the list */
  function replayBefore(page: number, from: number, to: number): void {
    let pages = 0;
    before = async () => {
      if (++pages !== page) return;
      const messageIds = (await kept(MESSAGES)).slice(from, to);
      await deliveries.replay({ destination: DESTINATION, messageIds });
    };
  }

  it('finds them in the order of the list', async () => {
    await keep(MESSAGES);
    expect(await read(MAX_ANSWER)).toEqual(await kept(MAX_ANSWER));
    expect(await read(250)).toEqual(await kept(250));
    expect(await read(MESSAGES + 50)).toEqual(await kept(MESSAGES));
  });

  it.each([
    { what: 'one of the page before', page: 2, from: 50, to: 51 },
    { what: 'the last one of the page before', page: 2, from: 99, to: 100 },
    { what: 'more than are on a page', page: 3, from: 0, to: 150 },
    { what: 'a few that came first', page: 3, from: 0, to: 5 },
  ])('leaves out none when meanwhile somebody replays $what', async ({ page, from, to }) => {
    await keep(MESSAGES);
    replayBefore(page, from, to);
    const found = await read(MESSAGES);
    expect(found).toEqual(expect.arrayContaining(await kept(MESSAGES)));
    expect(new Set(found).size).toBe(found.length);
  });

  it.each([
    { what: 'with a single request', others: 0, requests: 1 },
    { what: 'also if a thousand others failed in between', others: 1_000, requests: 3 },
  ])('knows which of its rows somebody has replayed since, $what', async ({ others, requests }) => {
    await keep(100 + others);
    const all = await deliveries.failed({ destination: DESTINATION, end: Infinity });
    const rows = [...all.slice(0, 50), ...all.slice(-50)];
    const replayed = idsOf([...rows.slice(10, 13), ...rows.slice(80, 82)]);
    await deliveries.replay({ destination: DESTINATION, messageIds: replayed });
    let asked = 0;
    before = () => Promise.resolve(asked++);
    const gone = await goneAmong(api, { id: DESTINATION, filter: {} }, rows, signal);
    expect([...gone]).toEqual(replayed);
    expect(asked).toBe(requests);
  });
});
