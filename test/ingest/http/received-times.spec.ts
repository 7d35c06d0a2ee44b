import { expect, it } from '@jest/globals';
import { GuardedChild } from '../../support/child-process.js';

const SCRIPT = new URL('./children/received-times.ts', import.meta.url);

it('corrects the time of a message by the time of sending, which is UTC if it has no offset', async () => {
  const timestamp = '2026-11-21T01:00:00';
  const receivedAt = '2026-11-21T01:28:53Z';
  const sent = ['2026-11-21T01:28:52', '2026-11-21T01:18:53', 'Sat, 21 Nov 2026 01:18:53 GMT'];
  const env = { ...process.env, TZ: 'Asia/Kolkata' };
  const child = await GuardedChild.startScript(SCRIPT, [timestamp, receivedAt, ...sent], { env });
  const times: unknown[] = [];
  for (const sentAt of sent) times.push([sentAt, JSON.parse(await child.waitFor(/^\{/))]);
  const at = (time: string): object => ({ zone: -330, timestamp: `2026-11-21T${time}.000Z` });
  expect(times).toEqual([
    ['2026-11-21T01:28:52', at('01:00:00')],
    ['2026-11-21T01:18:53', at('01:10:00')],
    // This time is not ISO 8601, unlike every time that a client sends.
    ['Sat, 21 Nov 2026 01:18:53 GMT', at('01:00:00')],
  ]);
  await child.exited;
});
