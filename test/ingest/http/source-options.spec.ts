import { describe, expect, it } from '@jest/globals';
import { InvalidOptionsError } from '../../../src/index.js';
import { resolveOptions } from '../../../src/options/resolve-options.js';
import type { ResolvedOptions } from '../../../src/options/resolved-options.js';

const CONNECTION = 'redis://127.0.0.1:6379';

function resolve(options: object, trackingApi?: unknown): ResolvedOptions {
  return resolveOptions(
    { writeKey: 'wk_test', connection: CONNECTION, ...options },
    { worker: true, trackingApi },
  );
}

/** Returns the paths of all wrong options. */
function problemsOf(options: object, trackingApi?: unknown): string[] {
  try {
    resolve(options, trackingApi);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidOptionsError)) throw error;
    return error.problems.map(({ path }) => path);
  }
}

function schemaProblems(schema: unknown): string[] {
  const sources = [{ name: 'web', writeKey: 'wk', schema }];
  return problemsOf({ writeKey: undefined, sources });
}

describe('the option `endpoint`', () => {
  it.each([
    ['https://events.example.com', 'https://events.example.com/v1/batch'],
    ['http://10.0.0.7:8080/', 'http://10.0.0.7:8080/v1/batch'],
    ['https://example.com/events//', 'https://example.com/events/v1/batch'],
  ])('%s has batches posted to %s', (endpoint, url) => {
    expect(resolve({ endpoint }).forwarding?.url.href).toBe(url);
  });

  it.each([
    'events.example.com',
    '/v1',
    'ftp://example.com',
    'https://user:secret@example.com',
    'https://example.com/?key=secret',
    7,
  ])('is refused if it is %s, without the value in the error', (endpoint) => {
    expect(problemsOf({ endpoint })).toEqual(['endpoint']);
    expect(() => resolve({ endpoint })).not.toThrow('secret');
  });

  it('is refused beside `webhooks`', () => {
    const webhooks = { urls: ['https://hooks.example.com'] };
    expect(problemsOf({ endpoint: 'https://events.example.com', webhooks })).toEqual(['endpoint']);
  });
});

describe('the `schema` of a source', () => {
  it.each([
    [{ 'Debug Event': false, 'Order Completed': { Webhooks: false }, Opened: true }, []],
    [undefined, []],
    [[], ['sources[0].schema']],
    ['Debug Event', ['sources[0].schema']],
    [{ x: 'false' }, ['sources[0].schema["x"]']],
    [{ x: { Webhooks: 'false' } }, ['sources[0].schema["x"]']],
    [{ x: { All: false } }, ['sources[0].schema["x"]']],
  ])('has exactly its wrong parts reported, by their paths: %j', (schema, problems) => {
    expect(schemaProblems(schema)).toEqual(problems);
  });
});

describe('the extra `trackingApi`', () => {
  it.each([
    [undefined, undefined],
    [false, undefined],
    [true, { path: '', rateLimit: Infinity }],
    [
      { path: '/events/', rateLimit: 5 },
      { path: '/events', rateLimit: 5 },
    ],
  ])('is resolved from %j to %j', (trackingApi, resolved) => {
    expect(resolve({}, trackingApi).trackingApi).toEqual(resolved);
  });

  it.each([
    ['trackingApi', 'yes'],
    ['trackingApi.path', { path: 'events' }],
    ['trackingApi.path', { path: '/events?x=1' }],
    ['trackingApi.rateLimit', { rateLimit: 0 }],
    ['trackingApi.paths', { paths: '/events' }],
  ])('is refused with the path of what is wrong: %s', (path, trackingApi) => {
    expect(problemsOf({}, trackingApi)).toEqual([path]);
  });
});
