/** Fields that calls take, and fields that do not compile because they would throw. Nothing here is run. */
import type { AnalyticsService, TransactionalAnalytics } from '../../src/index.js';

interface Order {
  id: string;
  total: number;
}

class Customer {
  readonly #plan = 'pro';

  get plan(): string {
    return this.#plan;
  }
}

export function callWithFields(analytics: AnalyticsService, order: Order, unknown: object): void {
  const userId = 'u1';
  analytics.track({
    userId,
    event: 'Order Completed',
    properties: { ...order, items: [order], at: new Date() },
  });
  for (const fields of [order, new Customer(), {}, { at: undefined }, undefined] as const) {
    analytics.track({ userId, event: 'Order Completed', properties: fields, context: fields });
    analytics.identify({ userId, traits: fields });
    analytics.group({ userId, groupId: 'g1', traits: fields });
    analytics.page({ userId, properties: fields, traits: fields });
    analytics.screen({ userId, properties: fields });
    analytics.alias({ userId, previousId: 'a1', context: fields });
  }
  analytics.track({ userId, event: 'Order Completed', properties: unknown, context: unknown });
  const record: Record<string, unknown> = {};
  analytics.tenant('t1').identify({ userId, traits: record });
}

/** Calls the service as a wrapper in an application does. */
export function callGenerically<T extends object>(analytics: AnalyticsService, fields: T): T {
  analytics.track({ userId: 'u1', event: 'Order Completed', properties: fields });
  return fields;
}

export function callWithoutFields(analytics: AnalyticsService, stored: TransactionalAnalytics): void {
  const userId = 'u1';
  const event = 'Order Completed';
  const load = (): Promise<Order> => Promise.resolve({ id: 'o1', total: 1 });
  // @ts-expect-error an array has no fields
  analytics.track({ userId, event, properties: [] });
  // @ts-expect-error an array of orders has no fields
  analytics.track({ userId, event, properties: [{ id: 'o1' }] });
  // @ts-expect-error a promise was not awaited
  analytics.track({ userId, event, properties: load() });
  // @ts-expect-error a function was not called
  analytics.track({ userId, event, properties: load });
  // @ts-expect-error a date has no fields
  analytics.track({ userId, event, context: new Date() });
  // @ts-expect-error a map has no fields
  analytics.identify({ userId, traits: new Map([['plan', 'pro']]) });
  // @ts-expect-error a set has no fields
  analytics.group({ userId, groupId: 'g1', traits: new Set(['pro']) });
  // @ts-expect-error an array has no fields
  analytics.page({ userId, properties: [] });
  // @ts-expect-error an array has no fields as traits either
  analytics.page({ userId, traits: [] });
  // @ts-expect-error binary data has no fields
  analytics.screen({ userId, properties: Buffer.from('{}') });
  // @ts-expect-error an array has no fields
  analytics.alias({ userId, previousId: 'a1', context: [] });
  // @ts-expect-error the same holds for a source
  analytics.source('web').track({ userId, event, properties: [] });
  // @ts-expect-error the same holds for a tenant
  analytics.tenant('t1').identify({ userId, traits: [] });
  // @ts-expect-error the same holds in a transaction
  void stored.track({ userId, event, properties: [] });
}
