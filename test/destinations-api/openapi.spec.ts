import { describe, expect, it } from '@jest/globals';
import { ROUTES } from '../../src/destinations-api/api-routes.js';
import { openApiDocument } from '../../src/destinations-api/openapi/openapi-document.js';
import { DESTINATION_FIELDS } from '../../src/options/resolve-destination.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { ApiServer } from './api-server.js';
import { type OpenApi, OpenApiCheck } from './openapi-check.js';

const document = JSON.parse(JSON.stringify(openApiDocument('/hooks'))) as OpenApi;

describe('the OpenAPI document', () => {
  it('has every route of the API, under a name of its own', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => ({ path, method, operationId })),
    );
    const routes = ROUTES.map(({ path, method, operation }) => ({
      path: `/hooks${path}`,
      method: method.toLowerCase(),
      operationId: operation,
    }));
    expect(operations).toHaveLength(routes.length);
    expect(operations).toEqual(expect.arrayContaining(routes));
  });

  it('has the fields that a destination can be given', () => {
    const fieldsOf = (name: string): string[] =>
      Object.keys(document.components.schemas[name]?.properties as object).sort();
    expect(fieldsOf('NewDestination')).toEqual([...DESTINATION_FIELDS].sort());
    const updated = DESTINATION_FIELDS.filter((field) => field !== 'tenant' && field !== 'enabled');
    expect(fieldsOf('DestinationUpdate')).toEqual([...updated, 'version'].sort());
  });

  it('uses every schema that it has, and only those', () => {
    const used = new Set(
      Array.from(JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g), ([, name]) => name),
    );
    expect([...used].sort()).toEqual(Object.keys(document.components.schemas).sort());
  });

  it('tells a right answer from a wrong one', () => {
    const check = new OpenApiCheck(document);
    const hour = { hour: 0, delivered: 1, retried: 0, failed: 0, durations: { p50: 1, p95: 2.5, p99: 3 } };
    expect(check.problems('GET', '/hooks/dst_1/stats', 200, { hours: [hour] })).toEqual([]);
    expect(check.problems('GET', '/hooks/dst_1/stats', 200, { hours: [{ ...hour, lost: 0 }] })).toHaveLength(
      1,
    );
    expect(check.problems('GET', '/hooks/dst_1/stats', 200, { hours: [{ hour: 0 }] })).toHaveLength(3);
    expect(check.problems('DELETE', '/hooks/dst_1', 204, '')).toEqual([]);
    expect(check.problems('DELETE', '/hooks/dst_1', 200, {})).toHaveLength(1);
  });
});

describe('the OpenAPI document of a running API', () => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('asks for a body wherever a request without one is refused', async () => {
    const connection = await newConnection();
    const api = await stage.add(ApiServer.start({ platform: 'Express', connection }));
    const check = new OpenApiCheck((await api.acme.ok(api.acme.get('/openapi.json'))) as unknown as OpenApi);
    for (const { method, path, operation } of ROUTES.filter((route) => route.method !== 'GET')) {
      const url = api.path + path.replace('{id}', 'dst_1');
      // A tenant of its own, since a tenant may make only so many changes a second.
      const { status } = await api.server.send(url, { method, headers: { cookie: `user=${operation}` } });
      const document = { operation, takesNoBody: check.takesNoBody(method, url) };
      expect(document).toEqual({ operation, takesNoBody: status !== 415 });
    }
  });
});
