import { describe, expect, it } from '@jest/globals';
import { AnalyticsModule, InvalidOptionsError } from '../../src/index.js';
import { resolveOptions } from '../../src/options/resolve-options.js';
import { AnalyticsApp, moduleOptions } from '../support/analytics-app.js';

const deliver = (): undefined => undefined;
const memory = { embedded: { dataDir: 'memory://' } };

function problemsOf(customDestinations: unknown, others: object = {}): string[] {
  try {
    resolveOptions({ writeKey: 'wk', customDestinations, ...others }, {});
    return [];
  } catch (error) {
    if (!(error instanceof InvalidOptionsError)) throw error;
    return error.problems.map(({ path }) => path);
  }
}

describe('the option `customDestinations`', () => {
  it('has defaults', () => {
    const { customDestinations, connection } = resolveOptions(
      { writeKey: 'wk', connection: memory, customDestinations: [{ id: 'warehouse', deliver }] },
      {},
    );
    expect(connection.kind).toBe('embedded');
    expect(customDestinations.objects).toMatchObject([
      {
        id: 'warehouse',
        name: 'warehouse',
        enabled: true,
        sources: ['default'],
        batchSize: 200,
        timeout: 30_000,
        retryWindow: 14_400_000,
      },
    ]);
  });

  it.each<[path: string, given: unknown, ...others: object[]]>([
    ['customDestinations', {}],
    ['customDestinations', [{ id: 'a', deliver }], { endpoint: 'https://events.example.com' }],
    ['customDestinations[0]', ['a']],
    ['customDestinations[0].id', [{ deliver }]],
    ['customDestinations[0].id', [{ id: '', deliver }]],
    ['customDestinations[0].deliver', [{ id: 'a' }]],
    ['customDestinations[0].name', [{ id: 'a', deliver, name: 'All' }]],
    ['customDestinations[0].sources', [{ id: 'a', deliver, sources: ['nowhere'] }]],
    ['customDestinations[0].batchSize', [{ id: 'a', deliver, batchSize: 0 }]],
    ['customDestinations[0].timeout', [{ id: 'a', deliver, timeout: Infinity }]],
    ['customDestinations[0].retryWindow', [{ id: 'a', deliver, retryWindow: -1 }]],
    ['customDestinations[0].retrywindow', [{ id: 'a', deliver, retrywindow: 5 }]],
    [
      'customDestinations[1].id',
      [
        { id: 'a', deliver },
        { id: 'a', deliver },
      ],
    ],
    [
      'customDestinations[0].id',
      [{ id: 'webhooks', deliver }],
      { webhooks: { urls: ['https://hooks.example.com/'] } },
    ],
  ])('reports %s', (...[path, given, others]) => {
    expect(problemsOf(given, others)).toEqual([path]);
  });

  it('may have objects with further fields for their own use', () => {
    expect(problemsOf([{ id: 'a', deliver, db: {}, pool: {}, rows: [] }])).toEqual([]);
  });

  it('is checked for classes when their instances are made', async () => {
    class Nameless {
      readonly id = '';
      readonly deliver = deliver;
    }
    class Taken {
      readonly id = 'object';
      readonly deliver = deliver;
    }
    const customDestinations = [Nameless, { id: 'object', deliver }, Taken];
    const starting = AnalyticsApp.startWith([
      AnalyticsModule.forRoot(moduleOptions({ connection: memory, customDestinations })),
    ]);
    await expect(starting).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      problems: [{ path: 'customDestinations[0].id' }, { path: 'customDestinations[2].id' }],
    });
  });
});
