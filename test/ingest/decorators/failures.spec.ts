import { describe, expect, it } from '@jest/globals';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { AnalyticsService, Group, Track } from '../../../src/index.js';
import { describeRedis } from '../../support/describe-backend.js';
import { RedisServer } from '../../support/redis-server.js';
import { type DecoratedApp, DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

const rejected = (): Promise<never> => Promise.reject(new Error('late secret'));

@Injectable()
class Fragile implements OnModuleInit {
  readonly early: string[] = [];

  constructor() {
    this.early.push(this.works());
  }

  onModuleInit(): void {
    this.early.push(this.works());
  }

  @Track('Worked', { userId: 'u1' })
  works(): string {
    return 'done';
  }

  @Track('Resolver Threw', {
    userId: 'u1',
    properties: ({ args: [secret] }) => {
      throw new TypeError(secret);
    },
  })
  resolverThrows(secret: string): number {
    return secret.length;
  }

  @Track('Resolver Threw', {
    userId: 'u1',
    properties: () => {
      throw new TypeError('secret');
    },
  })
  resolverThrowsLater(): Promise<string> {
    return Promise.resolve('done');
  }

  @Track('Condition Threw', {
    userId: 'u1',
    when: () => {
      throw new Error('secret');
    },
  })
  conditionThrows(): string {
    return 'done';
  }

  // @ts-expect-error -- functions are synchronous
  @Track('Asynchronous', { userId: 'u1', properties: rejected })
  asynchronous(): string {
    return 'done';
  }

  @Group({ userId: 'u1', groupId: '' })
  invalid(): string {
    return 'done';
  }

  @Track('Too Large', { userId: 'u1', properties: { text: 'x'.repeat(40_000) } })
  large(): string {
    return 'done';
  }

  @Track('Unknown Source', { userId: 'u1', source: 'elsewhere' })
  elsewhere(): string {
    return 'done';
  }
}

const start = (): Promise<DecoratedApp> => apps.start({ providers: [Fragile] });

describe('a failure to record a call', () => {
  it.each([
    [
      'an option that throws',
      (fragile: Fragile) => fragile.resolverThrows('done'),
      4,
      /threw TypeError at .*failures/,
    ],
    ['a condition that throws', (fragile: Fragile) => fragile.conditionThrows(), 'done', /threw Error at /],
    [
      'an option that is asynchronous',
      (fragile: Fragile) => fragile.asynchronous(),
      'done',
      /must be synchronous/,
    ],
    ['an invalid message', (fragile: Fragile) => fragile.invalid(), 'done', /Expected `groupId`/],
    ['a message that is too large', (fragile: Fragile) => fragile.large(), 'done', /32,?768/],
    ['a source that is unknown', (fragile: Fragile) => fragile.elsewhere(), 'done', /"elsewhere"/],
  ] as const)('is logged once, and the method returns as usual: %s', async (_name, call, result, text) => {
    const app = await start();
    expect(call(app.get(Fragile))).toBe(result);
    expect(call(app.get(Fragile))).toBe(result);
    const warnings = app.logs.about('Fragile.');
    expect(warnings).toEqual([expect.stringMatching(text)]);
    expect(warnings.join()).not.toContain('secret');
  });

  it('does not change the promise of the method', async () => {
    const app = await start();
    await expect(app.get(Fragile).resolverThrowsLater()).resolves.toBe('done');
    expect(app.logs.about('Fragile.resolverThrowsLater')).toHaveLength(1);
  });

  it('is logged after the application has closed, and the method returns as usual', async () => {
    const app = await start();
    const fragile = app.get(Fragile);
    await app.nest.close();
    expect(fragile.works()).toBe('done');
    expect(app.logs.about('Fragile.works')).toEqual([expect.stringContaining('was not recorded')]);
  });

  it('cannot occur in a constructor, where a decorated method just runs', async () => {
    const app = await start();
    expect(app.get(Fragile).early).toEqual(['done', 'done']);
    expect(app.events).toEqual(['Worked']);
  });
});

describeRedis('a decorated method on a Redis of its own', () => {
  it('runs as usual while the queue cannot be reached, and its event is queued later', async () => {
    const server = await RedisServer.create({ appendOnly: true });
    const app = await apps.start({
      providers: [Fragile],
      analytics: {
        connection: server.url(),
        webhooks: { urls: ['https://hooks.example.com'] },
      },
    });
    await server.kill();
    expect(app.get(Fragile).works()).toBe('done');
    await expect(app.nest.get(AnalyticsService).flush({ timeout: 50 })).resolves.toMatchObject({
      pending: 2,
    });
    await server.start();
    await expect(app.nest.get(AnalyticsService).flush()).resolves.toMatchObject({ pending: 0 });
    await app.nest.close();
    await server.dispose();
  });
});
