import { describe, expect, it } from '@jest/globals';
import type { DestinationsOptions } from '../../src/index.js';
import { resolveOptions } from '../../src/options/resolve-options.js';
import { PLATFORMS } from '../ingest/http/tracking-server.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { ApiServer, authorize } from './api-server.js';

const PATH = '/analytics/destinations';
const URLS = ['https://hooks.example.com/events'];
const COOKIE = { cookie: 'user=acme' };
const JSON_TYPE = { 'content-type': 'application/json' };

describe.each(PLATFORMS)('a request to the API of the destinations on %s', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  async function start(destinations?: DestinationsOptions): Promise<ApiServer> {
    const connection = await newConnection();
    return stage.add(ApiServer.start({ platform, connection }, destinations));
  }

  it('is answered 401 if a stranger sends it, before anything of it is read', async () => {
    const { server } = await start();
    for (const path of ['', '/openapi.json', '/dst_1', '/dst_1/nothing']) {
      expect(await server.send(PATH + path, {})).toMatchObject({
        status: 401,
        body: { error: { code: 'UNAUTHORIZED' } },
      });
    }
    expect(await server.send(PATH, { method: 'POST', body: '{', headers: JSON_TYPE })).toMatchObject({
      status: 401,
    });
  });

  it('is answered 500 without details, and logged, if `authorize` throws or returns nothing clear', async () => {
    const said: (() => unknown)[] = [
      () => {
        throw new Error('the password is teehee');
      },
      () => Promise.reject(new Error('teehee')),
      () => ({ tenant: undefined }),
      () => ({ tenant: '' }),
      () => ({ tenant: 'acme', operator: true }),
    ];
    let index = 0;
    const { server } = await start({ api: { authorize: () => said[index]?.() as undefined } });
    for (; index < said.length; index++) {
      const { status, body } = await server.send(PATH, {});
      expect({ status, body }).toEqual({
        status: 500,
        body: { error: { code: 'INTERNAL_ERROR', message: 'The request failed. Send it again later.' } },
      });
    }
    const lines = server.log.analytics.filter((line) => line.includes('destinations.api.authorize'));
    expect(lines).toHaveLength(5);
    expect(lines[0]).toContain('threw Error at');
    expect(lines[2]).toContain('returned an object');
    expect(lines.join()).not.toContain('teehee');
    // A stranger could otherwise fill the log.
    index = 0;
    expect(await server.send(PATH, {})).toMatchObject({ status: 500 });
    expect(server.log.analytics.filter((line) => line.includes('authorize'))).toHaveLength(5);
  });

  it('changes nothing if a page of another origin can send it without a preflight request', async () => {
    const { server, acme } = await start();
    const body = JSON.stringify({ urls: URLS });
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonp',
    ]) {
      const answer = await server.send(PATH, {
        method: 'POST',
        body,
        headers: { ...COOKIE, 'content-type': type },
      });
      expect(answer).toMatchObject({ status: 415, body: { error: { code: 'UNSUPPORTED_MEDIA_TYPE' } } });
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
    const preflight = await server.send(PATH, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.headers.has('access-control-allow-origin')).toBe(false);
    expect(await acme.ok(acme.get())).toEqual({ destinations: [] });
  });
});

describe('the options of the API of the destinations', () => {
  it.each<[string, object, string]>([
    ['no `authorize`', { api: {} }, 'destinations.api.authorize'],
    ['an `authorize` that is no function', { api: { authorize: true } }, 'destinations.api.authorize'],
    ['an `api` that is no object', { api: true }, 'destinations.api'],
    ['a name that is unknown', { api: { authorize, origin: '*' } }, 'destinations.api.origin'],
    ['a relative path', { api: { authorize, path: 'hooks' } }, 'destinations.api.path'],
    ['the root as its path', { api: { authorize, path: '/' } }, 'destinations.api.path'],
    ["a path below the tracking API's", { api: { authorize, path: '/v1/hooks' } }, 'destinations.api.path'],
    ["a path above the tracking API's", { api: { authorize, path: '/v1' } }, 'destinations.api.path'],
  ])('%s is reported', (_, destinations, path) => {
    const resolve = (): unknown =>
      resolveOptions({ writeKey: 'wk', destinations }, { worker: true, trackingApi: true });
    expect(resolve).toThrow(expect.objectContaining({ problems: [expect.objectContaining({ path })] }));
  });
});
