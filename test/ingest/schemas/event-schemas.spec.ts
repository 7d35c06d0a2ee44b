import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import {
  AnalyticsService,
  EventViolationError,
  InvalidOptionsError,
  type OnViolation,
  type StandardSchema,
  Track,
} from '../../../src/index.js';
import { type DecoratedApp, DecoratedApps } from '../decorators/support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

const OrderCompleted = z.object({
  total: z.number(),
  card: z.literal('none').default('none'),
  items: z.array(z.object({ sku: z.string() })).optional(),
});

/** Mimics a library whose schemas are functions and whose errors quote the given value. */
const Refunded: StandardSchema = Object.assign(() => undefined, {
  '~standard': {
    version: 1 as const,
    vendor: 'quoting',
    validate: (value: unknown) => ({
      issues: [{ message: `was ${JSON.stringify(value)}`, path: [{ key: 'total' }] }],
    }),
  },
});

const Asynchronous: StandardSchema = {
  '~standard': { version: 1, vendor: 'slow', validate: () => Promise.reject(new Error('late')) },
};

@Injectable()
class Orders {
  @Track('Order Completed', { userId: 'u1', properties: ({ result }) => ({ total: result }) })
  complete(total: unknown): unknown {
    return total;
  }
}

function start(onViolation?: OnViolation): Promise<DecoratedApp> {
  return apps.start({
    providers: [Orders],
    analytics: {
      events: { 'Order Completed': OrderCompleted, Refunded, Asynchronous },
      ...(onViolation && { onViolation }),
    },
  });
}

function track(app: DecoratedApp, event: string, properties: object): string {
  return app.nest.get(AnalyticsService).track({ userId: 'u1', event, properties });
}

describe('the schema of an event', () => {
  it('lets properties that fit through as they were given, not as the schema changes them', async () => {
    const app = await start('throw');
    track(app, 'Order Completed', { total: 5, note: 'extra' });
    track(app, 'Another Event', { total: 'five' });
    app.get(Orders).complete(6);
    expect(app.messages).toEqual([
      expect.objectContaining({ properties: { total: 5, note: 'extra' } }),
      expect.objectContaining({ properties: { total: 'five' } }),
      expect.objectContaining({ properties: { total: 6 } }),
    ]);
  });

  it('warns once for each event of properties that do not fit, and lets the event through, by default', async () => {
    const app = await start();
    track(app, 'Order Completed', { total: 'five', items: [{ sku: 1 }, {}] });
    track(app, 'Order Completed', {});
    track(app, 'Refunded', { total: 'five' });
    expect(app.events).toEqual(['Order Completed', 'Order Completed', 'Refunded']);
    expect(app.logs.about('schema')).toEqual([
      'The event "Order Completed" does not fit its schema in `events`: `properties.total`, ' +
        "`properties.items.0.sku`, `properties.items.1.sku`. It is sent anyway, because `onViolation` is 'warn'.",
      'The event "Refunded" does not fit its schema in `events`: `properties.total`. ' +
        "It is sent anyway, because `onViolation` is 'warn'.",
    ]);
  });

  it('drops and counts events that do not fit, if `onViolation` says so', async () => {
    const app = await start('drop');
    expect(track(app, 'Order Completed', { total: 'five' })).toEqual(expect.any(String));
    expect(app.get(Orders).complete('six')).toBe('six');
    expect(app.events).toEqual([]);
    await expect(app.nest.get(AnalyticsService).flush()).resolves.toMatchObject({ refused: 2 });
    expect(app.logs.about('schema')).toEqual([expect.stringContaining('`properties.total`')]);
  });

  it('throws in the call if `onViolation` says so, and never in a decorated method', async () => {
    const app = await start('throw');
    expect(() => track(app, 'Order Completed', { total: 'five' })).toThrow(EventViolationError);
    expect(app.get(Orders).complete('six')).toBe('six');
    expect(app.events).toEqual([]);
    expect(app.logs.about('Orders.complete')).toEqual([expect.stringContaining('`properties.total`')]);
  });

  it('never reveals a value', async () => {
    const app = await start('throw');
    expect(() => track(app, 'Refunded', { total: 'secret' })).toThrow(/`properties\.total`$/);
  });

  it('must be synchronous', async () => {
    const app = await start('throw');
    expect(() => track(app, 'Asynchronous', {})).toThrow('the schema is asynchronous');
  });
});

describe('the options of decorators and schemas', () => {
  it('are all checked at start', async () => {
    const wrong = {
      events: { Opened: { type: 'object' } },
      onViolation: 'log',
      requestContext: true,
      identity: 'user',
    };
    const started = apps.start({ analytics: Object.assign<object, object>({}, wrong) });
    await expect(started).rejects.toThrow(InvalidOptionsError);
    await expect(started).rejects.toMatchObject({
      problems: [
        { path: 'identity', expected: 'a function' },
        { path: 'requestContext', expected: '"decorated" (string) or "all" (string) or false (boolean)' },
        { path: 'events["Opened"]', expected: expect.stringContaining('Standard Schema') },
        { path: 'onViolation', given: '"log" (string)' },
      ],
    });
  });
});
