import type { AnalyticsEvents, EventName } from '../messages/analytics-events.types.js';
import type { AsSent } from './recorded-message.types.js';

/** A matcher such as `expect.any(Number)`, which may stand for any value. */
interface AsymmetricMatcher {
  asymmetricMatch(other: unknown): boolean;
}

/** Some of the contents of a value, as it was given to the call or as it is sent. */
export type Expected<T> =
  | AsymmetricMatcher
  | (T extends readonly (infer Item)[]
      ? readonly Expected<Item>[]
      : T extends object
        ? { [K in keyof T]?: Expected<T[K]> } | AsSent<T>
        : T);

type ExpectedProperties<E extends EventName> = E extends keyof AnalyticsEvents
  ? Expected<AnalyticsEvents[E]>
  : object;

/** Matchers that importing `nestjs-analytics/testing` adds to `expect` of Jest and vitest. */
export interface AnalyticsMatchers<R = void> {
  /**
   * Checks that an event was tracked at least once, with these among its properties.
   *
   * @example
   * expect(recorded).toHaveTracked('Order Completed', { total: 9 });
   */
  toHaveTracked<E extends EventName>(event: E, properties?: ExpectedProperties<E>): R;
  /**
   * Checks that a user was identified at least once, with these among the traits.
   *
   * @example
   * expect(recorded).toHaveIdentified('u1', { plan: 'pro' });
   */
  toHaveIdentified(userId: string, traits?: object): R;
}

/* eslint-disable @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars --
   the parameters of an interface that is extended have to be those of its first declaration */

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- @types/jest and vitest both declare this one
  namespace jest {
    interface Matchers<R, T = {}> extends AnalyticsMatchers<R> {}
  }
}

// eslint-disable-next-line @typescript-eslint/ban-ts-comment -- an application without Jest has no such module
/** @ts-ignore The types of `@jest/globals`, where Jest is installed. */
declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T = unknown> extends AnalyticsMatchers<R> {}
}
