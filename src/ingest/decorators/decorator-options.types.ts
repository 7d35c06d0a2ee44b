import type { Observable } from 'rxjs';
import type { EventName, EventProperties } from '../../messages/analytics-events.types.js';
import type { Fields } from '../../messages/fields.types.js';
import type { Integrations } from '../../messages/message.types.js';
import type { RequestContext } from '../../options/request-context.types.js';

/** Any method. */
export type AnyMethod = (...args: never[]) => unknown;

/**
 * The result of a method: the value of its promise or other thenable, or the last value of its Observable (`undefined`
 * if the Observable completed without a value), or else the returned value. For a generator function, the result is the
 * generator itself.
 */
export type ResultOf<M extends AnyMethod> =
  ReturnType<M> extends Observable<infer T> ? T | undefined : Awaited<ReturnType<M>>;

interface Call<M extends AnyMethod> {
  /** Arguments of the method, in their state when the method has ended. */
  readonly args: Parameters<M>;
  /** Request in which the method was called; `undefined` outside a request. */
  readonly context: RequestContext | undefined;
}

/** A call that returned. */
export interface SucceededCall<M extends AnyMethod> extends Call<M> {
  readonly result: ResultOf<M>;
  readonly error: undefined;
}

/** A call that threw, or whose promise or Observable failed. */
export interface FailedCall<M extends AnyMethod> extends Call<M> {
  readonly result: undefined;
  readonly error: unknown;
}

/** A value, or a synchronous function that returns it for the call. */
export type OfCall<C, T> = T | ((call: C) => T);

/** Options of all decorators. */
interface CommonFields<C> {
  /** If the decorator gives an id, the request's ids are not used, except by `@Alias`. @default that of `identity` */
  userId?: OfCall<C, string | null | undefined>;
  anonymousId?: OfCall<C, string | null | undefined>;
  /** Merged over the request's context, one level deep. */
  context?: OfCall<C, Fields | undefined>;
  /** Time of the event. @default when the method ended */
  timestamp?: OfCall<C, Date | string | undefined>;
  /** Destinations that get the message. @default all */
  integrations?: OfCall<C, Integrations | undefined>;
  /** Name of the source. @default the first one */
  source?: OfCall<C, string | undefined>;
  /** Tenant that the event belongs to. @default that of the source, else `context.groupId` */
  tenant?: OfCall<C, string | undefined>;
  /** Whether this call is recorded. @default true */
  when?: OfCall<C, boolean>;
}

interface TraitsFields<C> extends CommonFields<C> {
  traits?: OfCall<C, Fields | undefined>;
}

interface ViewFields<C> extends CommonFields<C> {
  name?: OfCall<C, string | undefined>;
  category?: OfCall<C, string | undefined>;
  properties?: OfCall<C, Fields | undefined>;
}

interface GroupFields<C> extends TraitsFields<C> {
  groupId: OfCall<C, string>;
}

interface AliasFields<C> extends Omit<CommonFields<C>, 'anonymousId'> {
  /** The old identity. @default the anonymous id of the request */
  previousId?: OfCall<C, string | null | undefined>;
}

interface TrackFields<C, P> extends CommonFields<C> {
  properties?: OfCall<C, P | undefined>;
}

/** The fields of each decorator. `C` is the type of the call that its functions get. */
interface FieldsOf<C, P> {
  track: TrackFields<C, P>;
  identify: TraitsFields<C>;
  page: ViewFields<C>;
  screen: ViewFields<C>;
  group: GroupFields<C>;
  alias: AliasFields<C>;
}

/** The types of calls that decorators can record. */
export type DecoratorType = keyof FieldsOf<unknown, unknown>;

/** The names of the options that a decorator has. */
export type OptionName<T extends DecoratorType> = keyof FieldsOf<unknown, unknown>[T] | 'on';

/** The options of a decorator on a method. `on` says which calls are recorded. */
type OptionsOf<T extends DecoratorType, M extends AnyMethod, P = object> =
  | ({ /** Calls that returned. */ on?: 'success' } & FieldsOf<SucceededCall<M>, P>[T])
  | ({ /** Calls that failed. */ on: 'failure' } & FieldsOf<FailedCall<M>, P>[T])
  | ({ /** All calls. */ on: 'settled' } & FieldsOf<SucceededCall<M> | FailedCall<M>, P>[T]);

/** Options of `@Track`. */
export type TrackOptions<M extends AnyMethod, E extends EventName = EventName> = OptionsOf<
  'track',
  M,
  EventProperties<E>
>;
/** Options of `@Identify`. */
export type IdentifyOptions<M extends AnyMethod> = OptionsOf<'identify', M>;
/** Options of `@Page`. */
export type PageOptions<M extends AnyMethod> = OptionsOf<'page', M>;
/** Options of `@Screen`. */
export type ScreenOptions<M extends AnyMethod> = OptionsOf<'screen', M>;
/** Options of `@Group`. */
export type GroupOptions<M extends AnyMethod> = OptionsOf<'group', M>;
/** Options of `@Alias`. */
export type AliasOptions<M extends AnyMethod> = OptionsOf<'alias', M>;

/**
 * A decorator for methods of one type. It accepts methods of instances only: static methods belong to a class, which
 * has a `prototype`.
 */
export type MethodDecoratorOf<M extends AnyMethod> = (
  target: object & { readonly prototype?: never },
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;
