import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, Scope } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { AnalyticsModule, AnalyticsService, Track } from '../../../src/index.js';
import { LazyPromise, LazyQuery } from './support/lazy-values.js';
import { DecoratedApps } from './support/decorated-app.js';
import type { Logs } from './support/logs.js';

const apps = DecoratedApps.forThisFile();

const resultOf = ({ result }: { result: unknown }): object => ({ result });

@Injectable()
class Jobs {
  private prefix = 'job ';
  readonly started = Promise.resolve('started');
  readonly failing = new Error('no paper');
  readonly query = new LazyQuery();
  readonly lazyPromise = new LazyPromise(() => undefined);
  /** A promise as tools that trace promises patch it. */
  readonly patched = Object.defineProperty(Promise.resolve('patched'), 'then', {
    value: Reflect.get(Promise.prototype, 'then') as unknown,
  });

  @Track('Returned', { userId: 'u1', properties: resultOf })
  returns(name: string): string {
    return this.prefix + name;
  }

  @Track('Thrown', { userId: 'u1', on: 'failure' })
  throws(): void {
    throw this.failing;
  }

  @Track('Resolved', { userId: 'u1', properties: resultOf })
  resolves(): Promise<string> {
    return this.started;
  }

  @Track('Traced', { userId: 'u1', properties: resultOf })
  traces(): Promise<string> {
    return this.patched;
  }

  @Track('Rejected', { userId: 'u1', on: 'failure' })
  async rejects(): Promise<void> {
    await this.started;
    throw this.failing;
  }

  @Track('Asked', { userId: 'u1', properties: resultOf })
  @Track('Not asked', { userId: 'u1', on: 'failure', properties: ({ error }) => ({ error: String(error) }) })
  asks(): LazyQuery {
    return this.query;
  }

  @Track('Requested', { userId: 'u1' })
  requests(): LazyPromise {
    return this.lazyPromise;
  }

  @Track('Listed', { userId: 'u1', properties: ({ result }) => ({ isGenerator: 'next' in result }) })
  *lists(): Generator<string> {
    this.prefix = 'begun';
    yield this.prefix;
  }

  @Track('Listed later', { userId: 'u1' })
  async *listsLater(): AsyncGenerator<string> {
    this.prefix = await this.started;
    yield this.prefix;
  }

  @Track('Configured', { userId: 'u1' })
  configures<T>(value: T): T {
    return value;
  }

  @Track('Configured later', { userId: 'u1' })
  async configuresLater<T>(value: T): Promise<T> {
    await this.started;
    return value;
  }

  @Track('First', { userId: 'u1' })
  @Track('Second', { userId: 'u1' })
  @Track('Third', { userId: 'u1' })
  thrice(): void {
    this.prefix = '';
  }
}

/** Mimics a configuration that throws if it is asked for a setting that it does not have. */
function strictConfig(): object {
  return new Proxy(
    {},
    {
      get: (_settings, name) => {
        if (name === 'then') return undefined;
        throw new Error(`There is no setting ${String(name)}`);
      },
    },
  );
}

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

async function startJobs(): Promise<{ jobs: Jobs; logs: Logs; events: () => unknown[] }> {
  const app = await apps.start({ providers: [Jobs] });
  const events = (): unknown[] =>
    app.messages.map((message) =>
      message.type === 'track' ? [message.event, ...Object.values(message.properties)] : message.type,
    );
  return { jobs: app.get(Jobs), logs: app.logs, events };
}

describe('a decorated method', () => {
  it('returns its result at once, and is recorded with it', async () => {
    const { jobs, events } = await startJobs();
    expect(jobs.returns('print')).toBe('job print');
    expect(events()).toEqual([['Returned', 'job print']]);
  });

  it('throws its own error at once, and is recorded as failed', async () => {
    const { jobs, events } = await startJobs();
    expect(() => {
      jobs.throws();
    }).toThrow(jobs.failing);
    expect(events()).toEqual([['Thrown']]);
  });

  it('returns a proxy that throws when it is examined, and is recorded', async () => {
    const { jobs, events } = await startJobs();
    const [strict, revoked] = [strictConfig(), revokedProxy()];
    expect(jobs.configures(strict) === strict).toBe(true);
    expect(jobs.configures(revoked) === revoked).toBe(true);
    expect((await jobs.configuresLater(strict)) === strict).toBe(true);
    expect(events()).toEqual([['Configured'], ['Configured'], ['Configured later']]);
  });

  it('returns its own promise, not a derived one', async () => {
    const { jobs, events } = await startJobs();
    const promise = jobs.resolves();
    expect(promise).toBe(jobs.started);
    await promise;
    expect(events()).toEqual([['Resolved', 'started']]);
  });

  it('settles in the same tick as without the decorator', async () => {
    const { jobs } = await startJobs();
    const order: string[] = [];
    await Promise.all([
      jobs.started.then(() => order.push('bare, before')),
      jobs.resolves().then(() => order.push('decorated')),
      jobs.started.then(() => order.push('bare, after')),
    ]);
    expect(order).toEqual(['bare, before', 'decorated', 'bare, after']);
  });

  it('rejects with its own error, and is recorded as failed', async () => {
    const { jobs, events } = await startJobs();
    await expect(jobs.rejects()).rejects.toBe(jobs.failing);
    expect(events()).toEqual([['Rejected']]);
  });

  it('may return a query, which it does not run, and is recorded with the result once somebody awaits the query', async () => {
    const { jobs, events } = await startJobs();
    const query = jobs.asks();
    expect(query).toBe(jobs.query);
    expect([query.runs, Object.keys(query), events()]).toEqual([0, ['runs', 'failure'], []]);
    await expect(query).resolves.toBe('rows');
    expect([query.runs, events()]).toEqual([1, [['Asked', 'rows']]]);
  });

  it('may return a lazy promise, which it does not start, and is recorded once somebody awaits the promise', async () => {
    const { jobs, events } = await startJobs();
    const promise = jobs.requests();
    expect(promise).toBe(jobs.lazyPromise);
    expect([promise.runs, events()]).toEqual([0, []]);
    await expect(promise).resolves.toBe('answer');
    expect([promise.runs, events()]).toEqual([1, [['Requested']]]);
  });

  it.each([
    ['awaited', async (promise: Promise<string>) => await promise],
    ['given a `finally`', (promise: Promise<string>) => promise.finally(() => undefined)],
  ])('may return a promise with its own `then`, and is recorded when that is %s', async (_, use) => {
    const { jobs, events } = await startJobs();
    const promise = jobs.traces();
    expect(promise).toBe(jobs.patched);
    await expect(use(promise)).resolves.toBe('patched');
    expect(events()).toEqual([['Traced', 'patched']]);
  });

  it('is recorded once, however often its query is awaited', async () => {
    const { jobs, events } = await startJobs();
    const query = jobs.asks();
    await query;
    await query;
    expect([query.runs, events()]).toEqual([2, [['Asked', 'rows']]]);
  });

  it('is recorded once for each call that returned the same query', async () => {
    const { jobs, events } = await startJobs();
    jobs.asks();
    await jobs.asks();
    expect(events()).toEqual([
      ['Asked', 'rows'],
      ['Asked', 'rows'],
    ]);
  });

  it('is recorded as failed if its query rejects, which keeps its own error', async () => {
    const { jobs, events } = await startJobs();
    jobs.query.failure = jobs.failing;
    await expect(jobs.asks()).rejects.toBe(jobs.failing);
    expect(events()).toEqual([['Not asked', 'Error: no paper']]);
  });

  it.each([
    ['catch', (query: LazyQuery) => query.catch((error: unknown) => error)],
    ['finally', (query: LazyQuery) => query.finally(() => undefined).catch((error: unknown) => error)],
  ])("is recorded if its query is run by a `%s` of the query's own", async (_, run) => {
    const { jobs, events } = await startJobs();
    jobs.query.failure = jobs.failing;
    await expect(run(jobs.asks())).resolves.toBe(jobs.failing);
    expect([jobs.query.runs, events()]).toEqual([1, [['Not asked', 'Error: no paper']]]);
  });

  it('keeps at most a thousand calls in memory for a query that nobody awaits, and records further calls at once', async () => {
    const { jobs, events } = await startJobs();
    for (let n = 0; n < 1_002; n++) jobs.asks();
    expect(events()).toHaveLength(2);
    await jobs.query;
    expect(events()).toHaveLength(1_002);
  });

  it('is recorded at once if its query is frozen, with the query itself as the result', async () => {
    const { jobs, events } = await startJobs();
    Object.freeze(jobs.query);
    jobs.asks();
    expect(events()).toEqual([['Asked', { runs: 0 }]]);
  });

  it('may be a generator function, and is recorded with the generator before that runs', async () => {
    const { jobs, events } = await startJobs();
    const [list, laterList] = [jobs.lists(), jobs.listsLater()];
    expect(events()).toEqual([['Listed', true], ['Listed later']]);
    expect(jobs.returns('waiting')).toBe('job waiting');
    expect([...list]).toEqual(['begun']);
    await expect(laterList.next()).resolves.toEqual({ value: 'started', done: false });
    expect(events()).toHaveLength(3);
  });

  it('is recorded for each of its decorators, in the order in which they are written', async () => {
    const { jobs, events } = await startJobs();
    jobs.thrice();
    expect(events()).toEqual([['First'], ['Second'], ['Third']]);
  });

  it('keeps its name and its length', () => {
    const method: unknown = Reflect.get(Jobs.prototype, 'returns');
    expect(method).toHaveProperty('name', 'returns');
    expect(method).toHaveLength(1);
  });

  it('adds no property to its object', async () => {
    const { jobs } = await startJobs();
    expect(Reflect.ownKeys(Object.assign({}, jobs))).toEqual(Reflect.ownKeys(new Jobs()));
  });
});

abstract class Shipping {
  @Track('Shipped', { userId: 'u1' })
  ship(): string {
    return 'shipped';
  }
}

@Injectable()
class Parcels extends Shipping {}

@Injectable()
class Letters extends Shipping {
  constructor(readonly analytics: AnalyticsService) {
    super();
  }

  @Track('Letter shipped', { userId: 'u1' })
  override ship(): string {
    return `${super.ship()} by letter`;
  }
}

@Injectable({ scope: Scope.TRANSIENT })
class TransientParcels extends Shipping {}

@Injectable({ scope: Scope.REQUEST })
class RequestParcels extends Shipping {}

@Module({ providers: [Parcels], exports: [Parcels] })
class SettingsModule {}

@Injectable()
class Office {
  constructor(readonly parcels: TransientParcels) {}
}

describe('a decorated method of a provider', () => {
  it('is recorded if a subclass inherits it', async () => {
    const app = await apps.start({ providers: [Parcels] });
    expect(app.get(Parcels).ship()).toBe('shipped');
    expect(app.events).toEqual(['Shipped']);
  });

  it('is recorded twice if a decorated override calls a decorated original', async () => {
    const app = await apps.start({ providers: [Letters] });
    expect(app.get(Letters).ship()).toBe('shipped by letter');
    expect(app.events).toEqual(['Shipped', 'Letter shipped']);
  });

  it('is recorded in transient and in request-scoped providers', async () => {
    const app = await apps.start({ providers: [TransientParcels, RequestParcels, Office] });
    app.get(Office).parcels.ship();
    const scoped = await app.nest.get(ModuleRef).resolve(RequestParcels, undefined, { strict: false });
    scoped.ship();
    expect(app.events).toEqual(['Shipped', 'Shipped']);
  });

  it('is recorded only by the application that its object belongs to', async () => {
    const one = await apps.start({ providers: [Parcels] });
    const other = await apps.start({ providers: [Parcels] });
    other.get(Parcels).ship();
    expect(one.events).toEqual([]);
    expect(other.events).toEqual(['Shipped']);
  });

  it('just runs if the application does not import the module', async () => {
    const app = await apps.start({ providers: [Parcels], withoutAnalytics: true });
    expect(app.get(Parcels).ship()).toBe('shipped');
  });

  it('just runs on an object that Nest did not construct', async () => {
    const app = await apps.start({
      providers: [{ provide: Parcels, useFactory: () => new Parcels() }],
    });
    expect(app.get(Parcels).ship()).toBe('shipped');
    expect(Parcels.prototype.ship.call(undefined)).toBe('shipped');
    expect(app.events).toEqual([]);
  });

  it('just runs while the options of the module are made with it, and is recorded afterwards', async () => {
    const events: string[] = [];
    const app = await apps.start({
      withoutAnalytics: true,
      imports: [
        AnalyticsModule.forRootAsync({
          imports: [SettingsModule],
          inject: [Parcels],
          useFactory: (parcels: Parcels) => ({
            writeKey: parcels.ship(),
            connection: apps.connection,
            beforeSend: (message) => {
              events.push(message.type);
              return message;
            },
          }),
        }),
      ],
    });
    expect(events).toEqual([]);
    app.get(Parcels).ship();
    expect(events).toEqual(['track']);
  });
});
