import { gzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import fc from 'fast-check';
import { messageIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { until } from '../../support/until.js';
import { basic, type TrackingServer } from './tracking-server.js';

const PATHS = ['/v1/batch', '/v1/import', '/v1/b', '/v1/track', '/v1/i', '/v1/p', '/v1/alias', '/v1/m'];
const GZIP_MAGIC = [0x1f, 0x8b];
const TYPES = ['track', 'identify', 'page', 'screen', 'group', 'alias', 'delete', 'Track', ''];

const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('\0', '\ud800', 'x\r\ny'));
const key = fc.oneof(
  text,
  fc.constantFrom('__proto__', 'constructor', 'toJSON', 'All', 'all', '0', 'Webhooks'),
);
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value;

/** A mostly valid message, any field of which may be invalid. */
const message = fc.record(
  {
    type: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...TYPES) }, anything),
    userId: fc.oneof(text, fc.integer(), anything),
    anonymousId: fc.oneof(text, anything),
    previousId: fc.oneof(text, anything),
    groupId: fc.oneof(text, anything),
    event: fc.oneof(text, anything),
    name: fc.oneof(text, anything),
    properties: anything,
    traits: anything,
    context: anything,
    integrations: fc.oneof(fc.dictionary(key, fc.boolean()), anything),
    timestamp: fc.oneof(
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      anything,
    ),
    sentAt: fc.oneof(
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      anything,
    ),
    messageId: anything,
  },
  { requiredKeys: [] },
);

/** A body with some bytes changed or cut off. */
const spoilt = fc
  .tuple(
    fc.oneof(
      fc.uint8Array(),
      fc.json().map((json) => Buffer.from(json)),
      fc.array(message).map(asBatch),
    ),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
    fc.nat(),
    fc.boolean(),
  )
  .map(([bytes, flips, cut, isZipped]) => {
    const body = isZipped ? gzipSync(bytes) : Buffer.from(bytes);
    for (const [at, value] of flips) if (body.length > 0) body[at % body.length] = value;
    return cut % 3 === 0 ? body.subarray(0, cut % (body.length + 1)) : body;
  });

function asBatch(batch: unknown): Buffer {
  return Buffer.from(JSON.stringify({ batch }));
}

export interface FuzzOptions {
  server: TrackingServer;
  receiver: Receiver;
  writeKey: string;
  /** Milliseconds that the search for errors may take at most. */
  time: number;
}

/** Sends what no client would send, and expects no error of the server and no lost message beside it. */
export async function fuzzTrackingApi({ server, receiver, writeKey, time }: FuzzOptions): Promise<void> {
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
  console.info(`Fuzzing the tracking API; repeat it with FUZZ_SEED=${seed}`);
  const run = { seed, numRuns: 1_000_000, interruptAfterTimeLimit: time / 2 };
  const headers = basic(writeKey);
  const neighbours: string[] = [];

  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(message, anything), { maxLength: 8 }), async (values) => {
      const own = [`first-${neighbours.length}`, `last-${neighbours.length}`];
      const [first, last] = own.map((messageId) => ({ type: 'track', userId: 'u1', event: 'x', messageId }));
      const answer = await server.post('/v1/batch', { batch: [first, ...values, last] }, headers);
      expect(answer).toMatchObject({ status: 200, body: { success: true } });
      const refused = JSON.stringify(answer.body);
      expect(refused).not.toContain('"index":0,');
      expect(refused).not.toContain(`"index":${values.length + 1},`);
      neighbours.push(...own);
    }),
    run,
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PATHS), spoilt, fc.boolean(), async (path, body, hasKey) => {
      const answer = await server.post(path, body, hasKey ? headers : {});
      // Compressed requests without Basic authentication share a limit.
      const mayBeLimited = !hasKey && GZIP_MAGIC.every((byte, at) => body[at] === byte);
      expect([200, 400, 401, 413, ...(mayBeLimited ? [429] : [])]).toContain(answer.status);
      expect(answer.body).toHaveProperty('success', answer.status === 200);
    }),
    run,
  );

  expect(neighbours.length).toBeGreaterThan(0);
  await until(() => {
    const received = new Set(receiver.requests.map((request) => messageIn(request).messageId));
    return neighbours.every((id) => received.has(id)) ? true : undefined;
  });
  expect(server.log.errors).toEqual([]);
}
