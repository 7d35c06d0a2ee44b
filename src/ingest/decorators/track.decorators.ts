import type {
  EventAlone,
  EventName,
  PlainEventName,
  TakesNoProperties,
} from '../../messages/analytics-events.types.js';
import type {
  AliasOptions,
  AnyMethod,
  GroupOptions,
  IdentifyOptions,
  MethodDecoratorOf,
  PageOptions,
  ScreenOptions,
  DecoratorType,
  TrackOptions,
} from './decorator-options.types.js';
import { decorateMethod } from './decorated-method.js';

/* eslint-disable @typescript-eslint/unified-signatures -- TypeScript does not type the functions of an
   optional parameter by the method that is decorated */

/**
 * Records an event when the method succeeds. The method's result, error and timing do not change. It works on
 * handlers of every transport and on methods of any provider that Nest constructs. One method may have
 * several of these decorators, in any order among Nest's own.
 *
 * Each option is a value or a function of the call, typed by the method. Errors that a function throws are
 * logged.
 *
 * @example
 * ```ts
 * @Post()
 * @Track('Order Completed', { properties: ({ result }) => ({ orderId: result.id, total: result.total }) })
 * create(@Body() order: CreateOrder): Promise<Order> { … }
 * ```
 */
export function Track<M extends AnyMethod, E extends EventName>(
  event: E,
  options: (TakesNoProperties<E> extends true ? unknown : { properties: unknown }) & TrackOptions<M, E>,
): MethodDecoratorOf<M>;
export function Track<M extends AnyMethod>(event: PlainEventName): MethodDecoratorOf<M>;
// This overload accepts no further calls. It makes the compiler's errors clearer.
export function Track<M extends AnyMethod, E extends string>(event: EventAlone<E>): MethodDecoratorOf<M>;
export function Track(event: EventName, options: object = {}): MethodDecoratorOf<AnyMethod> {
  return decorate('track', `@Track(${JSON.stringify(event)})`, { ...options, event });
}

/** Ties the user to traits when the method succeeds. @see Track */
export function Identify<M extends AnyMethod>(options: IdentifyOptions<M>): MethodDecoratorOf<M>;
export function Identify<M extends AnyMethod>(): MethodDecoratorOf<M>;
export function Identify(options: object = {}): MethodDecoratorOf<AnyMethod> {
  return decorate('identify', '@Identify', options);
}

/** Records a page view when the method succeeds. @see Track */
export function Page<M extends AnyMethod>(options: PageOptions<M>): MethodDecoratorOf<M>;
export function Page<M extends AnyMethod>(): MethodDecoratorOf<M>;
export function Page(options: object = {}): MethodDecoratorOf<AnyMethod> {
  return decorate('page', '@Page', options);
}

/** Records a screen view when the method succeeds. @see Track */
export function Screen<M extends AnyMethod>(options: ScreenOptions<M>): MethodDecoratorOf<M>;
export function Screen<M extends AnyMethod>(): MethodDecoratorOf<M>;
export function Screen(options: object = {}): MethodDecoratorOf<AnyMethod> {
  return decorate('screen', '@Screen', options);
}

/** Associates the user with a group when the method succeeds. @see Track */
export function Group<M extends AnyMethod>(
  options: { groupId: unknown } & GroupOptions<M>,
): MethodDecoratorOf<M> {
  return decorate('group', '@Group', options);
}

/**
 * Links the anonymous id of the request to the user when the method succeeds. Both ids can be given. Use it
 * on the method that signs a user up. @see Track
 */
export function Alias<M extends AnyMethod>(options: AliasOptions<M>): MethodDecoratorOf<M>;
export function Alias<M extends AnyMethod>(): MethodDecoratorOf<M>;
export function Alias(options: object = {}): MethodDecoratorOf<AnyMethod> {
  return decorate('alias', '@Alias', options);
}

function decorate<M extends AnyMethod>(
  type: DecoratorType,
  decorator: string,
  options: object,
): MethodDecoratorOf<M> {
  return (target, key, descriptor) => {
    decorateMethod(target, key, descriptor, { type, decorator, options: { ...options } });
  };
}
