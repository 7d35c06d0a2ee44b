import { Inject, Optional, UseInterceptors } from '@nestjs/common';
import { InvalidDecoratorTargetError } from '../errors/invalid-decorator-target.error.js';
import { watchCall } from './call-watch.js';
import { RequestContextInterceptor } from './request-context.interceptor.js';
import type { TrackDefinition } from './track-definition.js';
import type { AnyMethod } from './track-options.types.js';
import { TRACKING_HUB, type TrackingHub } from './tracking-hub.js';

/** Metadata of a tracked method: its definitions, which further decorators add to. */
const DEFINITIONS = Symbol.for('nestjs-analytics:definitions');

/**
 * Adds a definition to a method, which is wrapped by the first one. It is wrapped when it is decorated,
 * as Nest takes handlers from their classes before any hook of a module runs.
 */
export function trackMethod<M extends AnyMethod>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
  definition: TrackDefinition,
): void {
  const { value: method } = descriptor;
  if (typeof target === 'function' || typeof method !== 'function') {
    throw new InvalidDecoratorTargetError(definition.decorator, String(key));
  }
  const definitions = definitionsOf(method);
  if (definitions !== undefined) {
    // Decorators run from the last to the first; events come in the order in which they are written.
    definitions.unshift(definition);
    return;
  }
  const wrapped = wrap(method, `${target.constructor.name}.${String(key)}`, [definition]);
  UseInterceptors(RequestContextInterceptor)(target, key, { value: wrapped });
  copyMetadata(method, wrapped);
  descriptor.value = wrapped;
  injectHub(target);
}

function wrap<M extends AnyMethod>(method: M, name: string, definitions: TrackDefinition[]): M {
  const wrapped = new Proxy(method, {
    apply(original, instance: unknown, args: unknown[]): unknown {
      const run = (): unknown => Reflect.apply(original, instance, args);
      const hub = hubOf(instance);
      const tracker = hub?.tracker;
      if (hub === undefined || tracker === undefined) return run();
      const request = hub.request;
      return watchCall(run, ({ failed, result, error }) => {
        const call = { failed, result, error, method: name, args, context: request };
        // An Observable may complete out of the request in which the method was called.
        hub.within(request, () => {
          for (const definition of definitions) tracker.record(definition, call);
        });
      });
    },
  });
  Reflect.defineMetadata(DEFINITIONS, definitions, wrapped);
  return wrapped;
}

/**
 * Brings over what decorators before this one have noted on the method; those after it note it on the
 * wrapped one. Where both have a list, the wrapped one's comes first, so that the request's context is
 * entered before other interceptors run.
 */
function copyMetadata(from: object, to: object): void {
  for (const key of Reflect.getOwnMetadataKeys(from)) {
    const noted: unknown = Reflect.getOwnMetadata(key, from);
    const own: unknown = Reflect.getOwnMetadata(key, to);
    Reflect.defineMetadata(key, isList(own) && isList(noted) ? [...own, ...noted] : noted, to);
  }
}

/**
 * Has Nest give the hub of its application to every instance that it constructs. The property is hidden:
 * to the application its objects look as they did.
 */
function injectHub(target: object): void {
  if (TRACKING_HUB in target) return;
  Inject(TRACKING_HUB)(target, TRACKING_HUB);
  Optional()(target, TRACKING_HUB);
  Object.defineProperty(target, TRACKING_HUB, {
    configurable: true,
    get: () => undefined,
    set(this: object, value: unknown) {
      Object.defineProperty(this, TRACKING_HUB, { value, configurable: true, writable: true });
    },
  });
}

function hubOf(instance: unknown): TrackingHub | undefined {
  return hasHub(instance) ? instance[TRACKING_HUB] : undefined;
}

function hasHub(instance: unknown): instance is { [TRACKING_HUB]: TrackingHub | undefined } {
  return typeof instance === 'object' && instance !== null && TRACKING_HUB in instance;
}

function definitionsOf(method: object): TrackDefinition[] | undefined {
  const definitions: unknown = Reflect.getOwnMetadata(DEFINITIONS, method);
  return Array.isArray(definitions) ? definitions : undefined;
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}
