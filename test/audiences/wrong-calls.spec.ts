import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AudiencesService } from '../../src/index.js';
import { AnalyticsApp } from '../support/analytics-app.js';
import { quickConnections } from '../support/quick-connections.js';
import { Receiver } from '../support/receiver.js';

const newConnection = quickConnections();

describe('a call of the audiences service with wrong options', () => {
  let receiver: Receiver;
  let app: AnalyticsApp;
  let audiences: AudiencesService;

  beforeAll(async () => {
    receiver = await Receiver.start();
    app = await AnalyticsApp.start({
      connection: await newConnection(),
      sources: [
        { name: 'web', writeKey: 'wk_web' },
        { name: 'server', writeKey: 'wk_server' },
      ],
      webhooks: { urls: [receiver.url()], allowPrivateNetwork: true },
    });
    audiences = app.context.get(AudiencesService);
  });
  afterAll(async () => {
    await app.close();
    await receiver.close();
  });

  /** Calls each method with the options, and returns each call with the name that its error contains. */
  const calls = (given: unknown): [string, Promise<unknown>][] => {
    const options = given as object;
    return [
      ['sync', audiences.sync('All', ['ann'], options)],
      ['syncTrait', audiences.syncTrait('Score', [['ann', 1]], options)],
      ['add', audiences.add('All', 'ann', options)],
      ['remove', audiences.remove('All', 'ann', options)],
      ['delete', audiences.delete('All', options)],
    ];
  };

  it('is refused with the name of the option that was probably meant, and changes nothing', async () => {
    for (const [method, call] of calls({ sorce: 'server' })) {
      await expect(call).rejects.toMatchObject({
        code: 'INVALID_MESSAGE',
        field: 'sorce',
        message: `\`${method}()\` has no \`sorce\`. Did you mean \`source\`?`,
      });
    }
    const notify = audiences.delete('All', { notfiy: false } as object);
    await expect(notify).rejects.toThrow('`delete()` has no `notfiy`. Did you mean `notify`?');
    const onProgress = audiences.add('All', 'ann', { onProgress: () => 1 } as object);
    await expect(onProgress).rejects.toThrow('`add()` has no `onProgress`. Its options are source,');
    expect(await audiences.list()).toEqual([]);
  });

  it.each<[unknown, string, string]>([
    [{ wait: '30s' }, 'wait', 'a number of milliseconds, 0 or more, got a string'],
    [{ wait: -1 }, 'wait', 'a number of milliseconds, 0 or more, got a number'],
    [{ wait: NaN }, 'wait', 'a number of milliseconds, 0 or more, got a number'],
    [{ source: null }, 'source', 'a string, got null'],
    [{ integrations: 'crm' }, 'integrations', 'an object, got a string'],
    ['server', 'options', 'an object, got a string'],
    [null, 'options', 'an object, got null'],
  ])('is refused with %p, and the error does not contain the value', async (options, field, expected) => {
    for (const [, call] of calls(options)) {
      const message = `Expected \`${field}\` to be ${expected}`;
      await expect(call).rejects.toMatchObject({ code: 'INVALID_MESSAGE', field, message });
    }
    expect(await audiences.list()).toEqual([]);
  });
});
