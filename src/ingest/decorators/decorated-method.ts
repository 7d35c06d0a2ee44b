import { Inject, Optional, UseInterceptors } from '@nestjs/common';
import { watchCall } from './call-watch.js';
import { checkTarget } from './decorator-target.js';
import type { CallOutcome, DecoratorDefinition } from './decorator-definition.js';
import type { AnyMethod } from './decorator-options.types.js';
import { DECORATOR_RUNTIME, type DecoratorRuntime } from './decorator-runtime.js';
import { ObservedCalls } from './observed-calls.js';
import { RequestContextInterceptor } from './request-context.interceptor.js';

/** Metadata key of a decorated method's definitions. Further decorators add to them. */
const DEFINITIONS = Symbol.for('nestjs-analytics:definitions');

/**
 * Adds a definition to a method. The first definition wraps the method. This happens when the method is decorated,
 * since Nest takes handlers from their classes before any hook of a module runs.
 *
 * @throws InvalidDecoratorTargetError for anything but a method of an instance
 */
export function decorateMethod<M extends AnyMethod>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
  definition: DecoratorDefinition,
): void {
  const method = checkTarget(definition.decorator, { target, key, descriptor });
  const definitions = definitionsOf(method);
  if (definitions !== undefined) {
    // Decorators run from the last to the first. Events are recorded in the order in which the decorators are written.
    definitions.unshift(definition);
    return;
  }
  const wrapped = wrap(method, `${target.constructor.name}.${String(key)}`, [definition]);
  UseInterceptors(RequestContextInterceptor)(target, key, { value: wrapped });
  copyMetadata(method, wrapped);
  descriptor.value = wrapped;
  injectRuntime(target);
}

function wrap<M extends AnyMethod>(method: M, name: string, definitions: DecoratorDefinition[]): M {
  const observed = new ObservedCalls();
  const wrapped = new Proxy(method, {
    apply(original, instance: unknown, args: unknown[]): unknown {
      const run = (): unknown => Reflect.apply(original, instance, args);
      const runtime = runtimeOf(instance);
      const recorder = runtime?.recorder;
      if (runtime === undefined || recorder === undefined) return run();
      const { request } = runtime;
      const onOutcome = ({ failed, result, error }: CallOutcome): void => {
        const call = { failed, result, error, method: name, args, context: request };
        // An Observable may complete outside the request in which the method was called.
        runtime.within(request, () => {
          for (const definition of definitions) recorder.record(definition, call);
        });
      };
      return watchCall(run, onOutcome, (observable, onEnd) => {
        observed.add(observable, { request, currentRequest: () => runtime.request, onOutcome: onEnd });
      });
    },
  });
  Reflect.defineMetadata(DEFINITIONS, definitions, wrapped);
  return wrapped;
}

/**
 * Copies the metadata that earlier decorators set on the method; later ones set theirs on the wrapped method.
 * If both have a list, the wrapped method's comes first, so that the request's context is entered before
 * other interceptors run.
 */
function copyMetadata(from: object, to: object): void {
  for (const key of Reflect.getOwnMetadataKeys(from)) {
    const given: unknown = Reflect.getOwnMetadata(key, from);
    const own: unknown = Reflect.getOwnMetadata(key, to);
    Reflect.defineMetadata(key, isList(own) && isList(given) ? [...own, ...given] : given, to);
  }
}

/**
 * Makes Nest inject the runtime of its application into every instance that it constructs. The property is
 * hidden, so the application's objects look unchanged.
 */
function injectRuntime(target: object): void {
  if (DECORATOR_RUNTIME in target) return;
  Inject(DECORATOR_RUNTIME)(target, DECORATOR_RUNTIME);
  Optional()(target, DECORATOR_RUNTIME);
  /** Runtimes of instances that accept no property, because their constructor froze or sealed them. */
  const frozen = new WeakMap<object, unknown>();
  Object.defineProperty(target, DECORATOR_RUNTIME, {
    configurable: true,
    get(this: object) {
      return frozen.get(this);
    },
    set(this: object, value: unknown) {
      const property = { value, configurable: true, writable: true };
      if (!Reflect.defineProperty(this, DECORATOR_RUNTIME, property)) frozen.set(this, value);
    },
  });
}

function runtimeOf(instance: unknown): DecoratorRuntime | undefined {
  return hasRuntime(instance) ? instance[DECORATOR_RUNTIME] : undefined;
}

function hasRuntime(instance: unknown): instance is { [DECORATOR_RUNTIME]: DecoratorRuntime | undefined } {
  return typeof instance === 'object' && instance !== null && DECORATOR_RUNTIME in instance;
}

function definitionsOf(method: object): DecoratorDefinition[] | undefined {
  const definitions: unknown = Reflect.getOwnMetadata(DEFINITIONS, method);
  return Array.isArray(definitions) ? definitions : undefined;
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}
