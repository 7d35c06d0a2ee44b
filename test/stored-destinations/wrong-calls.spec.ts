import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DeliveriesService, type DestinationScope, DestinationsService } from '../../src/index.js';
import { AnalyticsApp } from '../support/analytics-app.js';
import { quickConnections } from '../support/quick-connections.js';

const URL = 'https://hooks.example.com/acme';
const newConnection = quickConnections();

/** A value as a caller without types, or with a cast, passes it. */
function untyped(value: unknown): never {
  return value as never;
}

describe('a call of the destinations service with wrong options', () => {
  let app: AnalyticsApp;
  let destinations: DestinationsService;
  let id: string;

  beforeAll(async () => {
    app = await AnalyticsApp.start({ connection: await newConnection(), destinations: {} });
    destinations = app.context.get(DestinationsService);
    ({ id } = await destinations.create({ tenant: 'acme', urls: [URL] }));
  });
  afterAll(() => app.close());

  /** Makes every call that takes a scope, with this scope. */
  const calls = (scope: unknown): Promise<unknown>[] => {
    const options = scope as DestinationScope;
    return [
      destinations.get(id, options),
      destinations.list(options),
      destinations.update(id, { name: 'taken' }, options),
      destinations.delete(id, options),
      destinations.enable(id, options),
      destinations.disable(id, options),
      destinations.rotateSecret(id, options),
      destinations.sendTest(id, options),
    ];
  };
  /** Expects that the call is refused for a single problem with this text. */
  const refused = async (call: Promise<unknown>, problem: RegExp): Promise<void> => {
    const isRefused = { code: 'INVALID_DESTINATION', problems: [expect.anything()] };
    await expect(call).rejects.toMatchObject({ ...isRefused, message: expect.stringMatching(problem) });
  };

  it.each([{ tenantId: 'evil' }, { tenantID: 'evil' }, { tenants: undefined }])(
    'does not grant operator access if it names the tenant as in %j',
    async (scope) => {
      const before = await destinations.get(id);
      for (const call of calls(scope)) {
        await refused(call, /`: expected one of the options tenant.*; did you mean `tenant`\?$/);
      }
      expect(await destinations.get(id)).toEqual(before);
    },
  );

  it.each([
    ['a text', 'evil', 'a string'],
    ['null', null, 'null'],
    ['a list', ['evil'], 'an array'],
    ['a promise that nobody awaits', Promise.resolve({ tenant: 'evil' }), 'a Promise'],
    ['a map', new Map([['tenant', 'evil']]), 'a Map'],
  ])('is refused if it gives %s instead of an object', async (_, scope, kind) => {
    for (const call of calls(scope)) await refused(call, new RegExp(`: expected an object, got ${kind}$`));
  });

  it('reads the tenant of a class instance like that of any other object', async () => {
    class Session {
      readonly #tenant = 'evil';
      get tenant(): string {
        return this.#tenant;
      }
    }
    await expect(destinations.get(id, new Session())).rejects.toMatchObject({
      code: 'DESTINATION_NOT_FOUND',
    });
  });

  it('is refused for every option with a wrong name or value', async () => {
    const update = destinations.update(id, {}, untyped({ verison: 1 }));
    await refused(update, /`verison`: .*; did you mean `version`\?$/);
    await refused(
      destinations.update(id, {}, untyped({ version: '1' })),
      /expected an integer >= 0, got "1"/,
    );
    await refused(destinations.disable(id, untyped({ reason: 5 })), /expected a string, got 5 \(number\)$/);
    await refused(destinations.rotateSecret(id, untyped({ overlap: '1h' })), /expected an integer >= 0/);
    await refused(destinations.list(untyped({ limit: 0 })), /expected an integer from 1 to 1000, got 0/);
    await refused(
      destinations.list(untyped({ enabled: 'false' })),
      /`enabled`: expected `false`, or nothing/,
    );
    await refused(destinations.changed(untyped({ tenant: 'acme' })), /expected the id of a tenant/);
    await expect(destinations.disable(id, untyped({ tenantId: 'evil', reason: 5 }))).rejects.toMatchObject({
      problems: [{ path: 'tenantId' }, { path: 'reason' }],
    });
    expect(await destinations.get(id)).toMatchObject({ enabled: true, version: 1 });
  });

  it('is refused once for a text instead of a destination, without quoting the text', async () => {
    await refused(
      destinations.create(untyped(URL)),
      /`fields`: expected an object, got a value of type string$/,
    );
    await refused(destinations.update(id, untyped(URL)), /`update`: expected an object, got a value of type/);
  });

  it('is refused by the deliveries service in the same way', async () => {
    const deliveries = app.context.get(DeliveriesService);
    const isRefused = { code: 'INVALID_FILTER' };
    const hint = expect.stringMatching(/Did you mean `tenant`\?$/);
    const query = { destination: id, tenants: undefined };
    await expect(deliveries.recent(query)).rejects.toMatchObject({ ...isRefused, message: hint });
    await expect(deliveries.stats(query)).rejects.toMatchObject({ ...isRefused, message: hint });
    for (const filter of [null, 'crm', [id]]) {
      const message = expect.stringMatching(/^Expected `filter` to be an object, got /);
      await expect(deliveries.replay(untyped(filter))).rejects.toMatchObject({ ...isRefused, message });
    }
  });
});
