import { describe, expect, it } from '@jest/globals';
import { problemsOf } from '../../support/compile.js';

const IMPORTS = `
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import {
  type AnalyticsModuleOptions, AnalyticsModule, type AnalyticsService, defineEvents, type EventsOf, Track,
} from 'nestjs-analytics';
declare const analytics: AnalyticsService;
`;

/** Shows that a program was compiled at all. `@ts-expect-error` checks the rest. */
const WRONG_AT_THE_END = `analytics.track({ userId: 'u1', event: 'Order', properties: {} });`;
const PROBLEM_AT_THE_END = `Type '"Order"' is not assignable to type '"Order Completed" | "Shop Opened" | "Left"'.`;

const CALLS = `
  analytics.track({ userId: 'u1', event: 'Order Completed', properties: { total: 1, coupon: 'c' } });
  analytics.track({ userId: 'u1', event: 'Shop Opened' });
  analytics.track({ userId: 'u1', event: 'Left' });
  analytics.track({ userId: 'u1', event: 'Left', properties: {} });
  // @ts-expect-error -- no such event
  analytics.track({ userId: 'u1', event: 'Order Complete', properties: { total: 1 } });
  // @ts-expect-error -- a total is a number
  analytics.track({ userId: 'u1', event: 'Order Completed', properties: { total: '1' } });
  // @ts-expect-error -- an order has a total
  analytics.track({ userId: 'u1', event: 'Order Completed', properties: {} });
  // @ts-expect-error -- an order has properties
  analytics.track({ userId: 'u1', event: 'Order Completed' });
  // @ts-expect-error -- an order has no door
  analytics.track({ userId: 'u1', event: 'Order Completed', properties: { total: 1, door: 'front' } });
  // @ts-expect-error -- an event without properties has none
  analytics.track({ userId: 'u1', event: 'Left', properties: { door: 'front' } });

  @Injectable()
  export class Shop {
    @Track('Left')
    @Track('Shop Opened')
    @Track('Shop Opened', { properties: { door: 'front' } })
    @Track('Order Completed', { properties: ({ result }) => ({ total: result.sum }) })
    right() { return { sum: 1 }; }

    // @ts-expect-error -- no such event
    @Track('Shop Open')
    noSuchEvent() { return 1; }

    // @ts-expect-error -- an order has properties
    @Track('Order Completed')
    noProperties() { return 1; }

    // @ts-expect-error -- an order has properties
    @Track('Order Completed', { userId: 'u1' })
    noPropertiesButOptions() { return 1; }

    // @ts-expect-error -- a total is a number
    @Track('Order Completed', { properties: ({ result }) => ({ total: result.sum }) })
    wrongProperties() { return { sum: '1' }; }
  }
`;

describe('events that an application declares', () => {
  it('are completed and checked in `track()` and in `@Track`', () => {
    const problems = problemsOf(`${IMPORTS}
      declare module 'nestjs-analytics' {
        interface AnalyticsEvents {
          'Order Completed': { total: number; coupon?: string };
          'Shop Opened': { door?: string };
          Left: Record<string, never>;
        }
      }
      ${CALLS}
      ${WRONG_AT_THE_END}`);
    expect(problems).toEqual([PROBLEM_AT_THE_END]);
  });

  it.each([
    [
      'an event without its properties',
      `analytics.track({ userId: 'u1', event: 'Order Completed' });`,
      /Property 'properties' is missing in type .* but required in type .*total: number/,
    ],
    [
      'a user who may be nobody',
      `analytics.track({ userId: process.env.USER_ID, event: 'Paid', properties: { total: 1 } });`,
      /Type 'undefined' is not assignable to type 'string'/,
    ],
    [
      'nobody at all',
      `analytics.page({ name: 'Checkout' });`,
      /Property 'userId' is missing in type '\{ name: string; \}'/,
    ],
    [
      'a decorator without properties',
      `export class Shop { @Track('Order Completed') complete() { return 1; } }`,
      /'"Order Completed"' is not assignable to .* \{ options: \{ properties: \{ total: number; \}; \}; \}/,
    ],
    [
      'a decorator with other options alone',
      `export class Shop { @Track('Order Completed', { userId: 'u1' }) complete() { return 1; } }`,
      /Property 'properties' is missing in type '\{ userId: string; \}'/,
    ],
    [
      'a decorator with the name of no event',
      `export class Shop { @Track('Order') complete() { return 1; } }`,
      /'"Order"' is not assignable to parameter of type '"Order Completed" \| "Paid"'/,
    ],
  ])('lead to clear compiler errors: %s', (_, call, problem) => {
    const problems = problemsOf(`
      import { type AnalyticsService, Track } from 'nestjs-analytics';
      declare const analytics: AnalyticsService;
      declare module 'nestjs-analytics' {
        interface AnalyticsEvents { 'Order Completed': { total: number }; Paid: { total: number } }
      }
      ${call}`);
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });

  it('may be declared once, by their schemas', () => {
    const problems = problemsOf(`${IMPORTS}
      export const events = defineEvents({
        'Order Completed': z.object({ total: z.number(), coupon: z.string().optional() }),
        'Shop Opened': z.object({ door: z.string().default('front') }),
        Left: z.object({}),
      });
      declare module 'nestjs-analytics' {
        interface AnalyticsEvents extends EventsOf<typeof events> {}
      }
      ${CALLS}
      AnalyticsModule.forRoot({ writeKey: 'wk', events });
      AnalyticsModule.forRootAsync({ useFactory: () => ({ writeKey: 'wk', events }) });
      events['Order Completed'].parse({ total: 1 });
      ${WRONG_AT_THE_END}`);
    expect(problems).toEqual([PROBLEM_AT_THE_END]);
  });

  it('must not be contradicted by a schema', () => {
    const problems = problemsOf(`${IMPORTS}
      declare module 'nestjs-analytics' {
        interface AnalyticsEvents {
          'Order Completed': { total: number; coupon?: string };
          'Shop Opened': { door?: string };
          Left: Record<string, never>;
        }
      }
      const take = (events: AnalyticsModuleOptions['events']): unknown => events;
      take(defineEvents({
        'Order Completed': z.object({ total: z.number(), coupon: z.string().optional() }),
        'Shop Opened': z.object({ door: z.string().optional() }),
        Left: z.object({}),
      }));
      take(defineEvents({ 'Order Completed': z.object({ total: z.number() }) }));
      take(defineEvents({ 'Order Completed': z.object({ total: z.coerce.number() }) }));
      take(defineEvents({ 'Order Completed': z.object({}).loose() }));
      take(defineEvents({}));
      // @ts-expect-error -- a total is a number
      take(defineEvents({ 'Order Completed': z.object({ total: z.string() }) }));
      // @ts-expect-error -- an order is not declared to have an id
      take(defineEvents({ 'Order Completed': z.object({ total: z.number(), id: z.string() }) }));
      // @ts-expect-error -- a coupon may be left out
      take(defineEvents({ 'Order Completed': z.object({ total: z.number(), coupon: z.string() }) }));
      // @ts-expect-error -- no such event
      take(defineEvents({ 'Shop Open': z.object({}) }));
      // @ts-expect-error -- without defineEvents the compiler cannot compare
      take({ 'Order Completed': z.object({ total: z.number() }) });
      // @ts-expect-error -- a total is a number
      AnalyticsModule.forRoot({ writeKey: 'wk', events: defineEvents({ 'Order Completed': z.object({ total: z.string() }) }) });
      ${WRONG_AT_THE_END}`);
    expect(problems).toEqual([PROBLEM_AT_THE_END]);
  });

  it('may be absent, so that schemas stand by themselves', () => {
    const problems = problemsOf(`${IMPORTS}
      AnalyticsModule.forRoot({ writeKey: 'wk', events: { Any: z.object({ total: z.number() }) } });
      AnalyticsModule.forRoot({ writeKey: 'wk', events: defineEvents({ Any: z.object({ total: z.number() }) }) });
      analytics.track({ userId: 'u1', event: 'Anything', properties: { any: 1 } });
      export class Shop { @Track('Anything', { properties: { any: 1 } }) open() { return 1; } }
      export type Events = EventsOf<{ Any: 1 }>;
      Injectable;
      // @ts-expect-error -- not a schema
      defineEvents({ Any: { type: 'object' } });`);
    expect(problems).toEqual([]);
  });
});

describe('a decorator', () => {
  it('does not compile for a group without a `groupId`, which the error names', () => {
    for (const options of ['{}', '{ traits: {} }']) {
      const program = `
        import { Group } from 'nestjs-analytics';
        export class Teams { @Group(${options}) join(): number { return 1; } }`;
      expect(problemsOf(program).join()).toContain('groupId');
    }
  });

  it('does not compile under standard decorators', () => {
    const [problem] = problemsOf(
      `import { Track } from 'nestjs-analytics';
      export class Shop { @Track('Opened') open() { return 1; } }`,
      { experimentalDecorators: false, emitDecoratorMetadata: false },
    );
    expect(problem).toMatch(/^Unable to resolve signature of method decorator/);
  });
});
