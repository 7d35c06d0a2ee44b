import { type Observable, of } from 'rxjs';
import {
  Alias,
  type AnalyticsModuleOptions,
  type AnalyticsService,
  Group,
  Identify,
  Page,
  Screen,
  Track,
} from '../../../src/index.js';

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

class Money {
  readonly amount = 1;
  readonly [Symbol.toStringTag] = 'Money';

  [Symbol.toPrimitive](): number {
    return this.amount;
  }
}

/** Shows what the compiler takes and refuses: decorators are typed by the methods that they decorate. */
export class Orders {
  @Track('Order Completed', {
    userId: ({ args: [id] }) => id,
    properties: ({ result }) => ({ total: result.total }),
  })
  typed(id: string): Promise<Order> {
    return Promise.resolve({ id, total: 1 });
  }

  // @ts-expect-error -- an order has no `sum`
  @Track('Order Completed', { when: ({ result }) => result.sum > 1 })
  wrongResult(): Promise<Order> {
    return this.typed('');
  }

  // @ts-expect-error -- a number is no id
  @Track('Order Completed', { userId: ({ args: [id] }) => id })
  wrongId(id: number): number {
    return id;
  }

  // @ts-expect-error -- there is one argument
  @Track('Order Completed', { properties: ({ args: [, note] }) => ({ note }) })
  wrongArgument(id: string): string {
    return id;
  }

  // @ts-expect-error -- an option that does not exist
  @Track('Order Completed', { propertis: {} })
  wrongOption(): void {
    this.plain();
  }

  // @ts-expect-error -- an option of another decorator
  @Identify({ properties: {} })
  optionOfAnother(): void {
    this.plain();
  }

  // @ts-expect-error -- not a moment at which calls are recorded
  @Track('Order Completed', { on: 'failed' })
  wrongMoment(): void {
    this.plain();
  }

  // @ts-expect-error -- functions must be synchronous
  @Track('Order Completed', { userId: () => Promise.resolve('u1') })
  asynchronous(): void {
    this.plain();
  }

  // @ts-expect-error -- a group has an id
  @Group({ userId: 'u1' })
  groupWithoutId(): void {
    this.plain();
  }

  // @ts-expect-error -- a call that failed has no result
  @Track('Order Failed', { on: 'failure', when: ({ result }) => result.total > 1 })
  resultOfFailure(): Order {
    return { id: '', total: 1 };
  }

  // @ts-expect-error -- a call that failed has no result
  @Track('Order Tried', { on: 'settled', properties: ({ result }) => ({ total: result.total }) })
  resultOfEither(): Order {
    return { id: '', total: 1 };
  }

  // @ts-expect-error -- an Observable may complete without a value
  @Track('Orders Streamed', { properties: ({ result }) => ({ total: result.total }) })
  streams(): Observable<Order> {
    return of(this.several());
  }

  // @ts-expect-error -- outside of a request, `request` is undefined
  @Track('Order Completed', { userId: ({ context }) => context.request.ip })
  perhapsNoRequest(): void {
    this.plain();
  }

  // @ts-expect-error -- a property is not a method
  @Track('Order Completed')
  total = 1;

  // @ts-expect-error -- an arrow function is a property
  @Track('Order Completed')
  arrow = (): number => 1;

  // @ts-expect-error -- Nest constructs instances, to which static methods do not belong
  @Track('Order Completed')
  static all(): number {
    return 1;
  }

  // @ts-expect-error -- an accessor is no method
  @Track('Order Completed')
  get count(): number {
    return this.total;
  }

  @Track('Order Completed')
  @Track('Order Tried', {
    on: 'settled',
    properties: ({ error, result }) => ({ total: result?.total, error }),
  })
  @Track('Order Failed', { on: 'failure', when: ({ error }) => error instanceof TypeError, userId: null })
  @Identify({ traits: ({ result }) => ({ last: result.id }), userId: ({ context }) => context?.request?.ip })
  @Page({ name: ({ result }) => result.id })
  @Screen()
  @Group({ groupId: ({ result }) => result.id })
  @Alias({ previousId: ({ result }) => result.id })
  protected several(): Order {
    return { id: '', total: 1 };
  }

  // Anything that JSON writes as an object is allowed, whether a function returns it or not.
  @Track('Order Completed', { properties: ({ result }) => result })
  @Track('Order Completed', { properties: ({ args: [record] }) => record, context: ({ result }) => result })
  @Track('Order Completed', { properties: ({ args: [, any] }) => any })
  @Track('Order Completed', { properties: ({ result }) => (result.total > 1 ? { ...result } : undefined) })
  @Identify({ traits: new Customer(), context: {} })
  @Identify({ traits: new Money() })
  @Identify({ traits: ({ args: [, , customer] }) => customer })
  @Page({ properties: Object.freeze({ path: '/' }) })
  @Screen({ properties: ({ args: [record] }) => ({ ...record, at: new Date(), tags: ['a'] }) })
  protected objects(record: Record<string, unknown>, any: object, customer: Customer): Order {
    return { id: String(record.id), total: Object.keys(any).length + customer.plan.length };
  }

  @Track('Order Completed', { properties: ({ args: [entity] }) => entity })
  @Identify({ traits: ({ result }) => result })
  protected generic<T extends object>(entity: T): Promise<T> {
    return Promise.resolve(entity);
  }

  // @ts-expect-error -- an array has no fields
  @Track('Order Completed', { properties: ['a'] })
  array(): void {
    this.plain();
  }

  // @ts-expect-error -- an array that a function returns has no fields either
  @Track('Orders Listed', { properties: ({ result }) => result })
  readonlyArray(): readonly Order[] {
    return [];
  }

  // @ts-expect-error -- functions must be synchronous
  @Track('Order Completed', { properties: async ({ result }) => Promise.resolve(result) })
  asynchronousProperties(): Order {
    return this.several();
  }

  // @ts-expect-error -- the value of an option is no promise either
  @Identify({ traits: Promise.resolve({ plan: 'pro' }) })
  promise(): void {
    this.plain();
  }

  // @ts-expect-error -- a function that returns a function
  @Page({ properties: () => () => ({ path: '/' }) })
  functionOfFunction(): void {
    this.plain();
  }

  // @ts-expect-error -- a class, not an instance of it
  @Group({ groupId: 'g1', traits: () => Customer })
  classAsTraits(): void {
    this.plain();
  }

  // @ts-expect-error -- JSON writes a map as `{}`
  @Screen({ properties: new Map([['a', 1]]) })
  map(): void {
    this.plain();
  }

  // @ts-expect-error -- JSON writes a date as a text
  @Identify({ traits: ({ result }) => result })
  date(): Date {
    return new Date();
  }

  // @ts-expect-error -- a context cannot be a list either
  @Alias({ context: () => [1] })
  contextOfArray(): void {
    this.plain();
  }

  // @ts-expect-error -- a text is no object
  @Track('Order Completed', { properties: () => 'text' })
  text(): void {
    this.plain();
  }

  private plain(): void {
    this.several();
  }
}

export function takeEvents(analytics: AnalyticsService): void {
  analytics.track({ userId: 'u1', event: 'Anything', properties: { any: 1 } });
  // @ts-expect-error -- an event has a name
  analytics.track({ userId: 'u1', properties: {} });
}

export const OPTIONS: AnalyticsModuleOptions = {
  identity: ({ request, type, host }) => ({
    userId: type === 'rpc' ? host.switchToRpc().getData<{ userId: string }>().userId : undefined,
    anonymousId: request?.ip,
  }),
  // @ts-expect-error -- not a schema
  events: { Anything: { type: 'object' } },
};

// @ts-expect-error -- a class is no method
@Track('Order Completed')
export class DecoratedClass {}
