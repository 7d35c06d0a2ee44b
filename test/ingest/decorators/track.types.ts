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

/** What the compiler takes and refuses: the decorators are typed by the methods that they are on. */
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

  // @ts-expect-error -- nothing is recorded at that moment
  @Track('Order Completed', { on: 'failed' })
  wrongMoment(): void {
    this.plain();
  }

  // @ts-expect-error -- functions are synchronous
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

  // @ts-expect-error -- outside of a request there is none
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

  // @ts-expect-error -- Nest constructs instances, so static methods are nobody's
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
