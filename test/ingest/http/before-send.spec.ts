import { describe, expect, it } from '@jest/globals';
import { type AnalyticsModuleOptions, AnalyticsService } from '../../../src/index.js';
import { DecoratedApps } from '../decorators/support/decorated-app.js';

type BeforeSend = NonNullable<AnalyticsModuleOptions['beforeSend']>;

const apps = DecoratedApps.forThisFile();
const TRACK = { type: 'track', userId: 'u1', event: 'Opened' };

describe('a `beforeSend` for the messages of other programs', () => {
  it.each([
    [
      'a promise',
      async (message: object) => Promise.resolve(message),
      'got a Promise: it must be synchronous',
    ],
    ['nothing', () => undefined, 'got undefined'],
    ['a wrong field', (message: object) => ({ ...message, userId: 42 }), '`userId` .* got a number'],
    [
      'what JSON cannot hold',
      (message: object) => ({ ...message, properties: { total: 10n } }),
      '`beforeSend` returned a message that cannot be sent.*`properties`.*BigInt',
    ],
    [
      'more than 32 KB',
      (message: object) => ({ ...message, properties: { text: 'x'.repeat(40_000) } }),
      '`beforeSend` returned a message of more than 32 KB',
    ],
    [
      'a getter that throws',
      (message: object) => ({
        ...message,
        get userId(): string {
          throw new TypeError('no secret');
        },
      }),
      'threw TypeError',
    ],
  ])(
    'causes refusals if it returns %s, which are counted and logged once, but not reported to the client',
    async (_case, wrong, text) => {
      const beforeSend = wrong as unknown as BeforeSend;
      const app = await apps.start({ analytics: { beforeSend }, trackingApi: true });
      const { status, body } = await app.request('/v1/batch', {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from('wk_test:').toString('base64')}` },
        body: JSON.stringify({ batch: [TRACK, TRACK, { ...TRACK, userId: [] }] }),
      });
      expect({ status, body: JSON.parse(body) as unknown }).toEqual({
        status: 200,
        body: {
          success: true,
          refused: [{ index: 2, code: 'INVALID_MESSAGE', message: expect.stringContaining('`userId`') }],
        },
      });
      expect(app.nest.get(AnalyticsService).status().refused).toBe(2);
      expect(app.logs.about('beforeSend')).toEqual([expect.stringMatching(text)]);
      expect(app.logs.about('secret')).toEqual([]);
    },
  );

  it('does not hide from the client that its message is too large', async () => {
    const beforeSend: BeforeSend = (message) => ({ ...message, userId: 'u2' });
    const app = await apps.start({ analytics: { beforeSend }, trackingApi: true });
    const { status, body } = await app.request('/v1/track', {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('wk_test:').toString('base64')}` },
      body: JSON.stringify({ ...TRACK, properties: { text: 'x'.repeat(40_000) } }),
    });
    expect({ status, body: JSON.parse(body) as unknown }).toMatchObject({
      status: 400,
      body: { code: 'MESSAGE_TOO_LARGE' },
    });
    expect(app.nest.get(AnalyticsService).status().refused).toBe(0);
    expect(app.logs.about('beforeSend')).toEqual([]);
  });
});
