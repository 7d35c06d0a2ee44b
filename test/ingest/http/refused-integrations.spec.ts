import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SilentStore } from '../../stored-destinations/silent-store.js';
import { quickConnections } from '../../support/quick-connections.js';
import { Stage } from '../../support/stage.js';
import { type ApiAnswer, basic, TrackingServer } from './tracking-server.js';

const newConnection = quickConnections();
const DEPTH = 100_000;

describe('a message whose `integrations` cannot be measured, and whose destinations are not known', () => {
  const stage = new Stage();
  const rejections: unknown[] = [];
  const onRejection = (reason: unknown): void => void rejections.push(reason);

  beforeEach(() => {
    rejections.length = 0;
    process.on('unhandledRejection', onRejection);
  });
  afterEach(() => {
    process.off('unhandledRejection', onRejection);
  });

  /** Sends the message as text, since `JSON.stringify` cannot write such deep nesting. */
  function send(server: TrackingServer, context: object): Promise<ApiAnswer> {
    const deep = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
    const fields = JSON.stringify({ userId: 'u1', event: 'E', context }).slice(1, -1);
    return server.post('/v1/track', `{${fields},"integrations":{"X":${deep}}}`, basic('web'));
  }

  it('is refused without an unhandled rejection if its tenant cannot be determined either', async () => {
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          writeKey: 'web',
          connection: await newConnection(),
          destinations: {
            tenant: () => {
              throw new Error('no tenant');
            },
          },
        },
      }),
    );
    expect(await send(server, {})).toMatchObject({ status: 400, body: { code: 'INVALID_MESSAGE' } });
    await new Promise((resolve) => setImmediate(resolve));
    expect(rejections).toEqual([]);
  });

  it('is refused before its tenant is looked up', async () => {
    const store = new SilentStore();
    const server = await TrackingServer.start({
      platform: 'Express',
      analytics: { writeKey: 'web', connection: await newConnection(), destinations: { store } },
    });
    const answer = await send(server, { groupId: 'acme' });
    await server.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_MESSAGE' } });
    expect(store.asked).toEqual([]);
    expect(rejections).toEqual([]);
  });
});
