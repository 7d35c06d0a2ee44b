import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { ASYNC_OPTIONS_TYPE, ConfigurableModuleClass, OPTIONS_TYPE } from './analytics.module-definition.js';
import { ANALYTICS_EXPORTS, ANALYTICS_PROVIDERS } from './analytics.providers.js';
import type { OptionProblem } from './errors/option-problem.js';
import { InvalidImportError, InvalidOptionsError } from './errors/setup.errors.js';
import { DecoratorRuntimeModule } from './ingest/decorators/decorator-runtime.module.js';
import { isSetUp } from './loaded-copies.js';
import { isAbsent } from './messages/message-checks.js';
import { isRecord } from './options/option-reader.js';
import { MODULE_EXTRAS, MODULE_OPTIONS } from './options/options.tokens.js';
import { DEFAULT_SOURCE } from './options/resolve-sources.js';

/** The keys of `forRootAsync` that can make the options. */
const MAKERS = ['useFactory', 'useClass', 'useExisting'] as const;
const NO_MAKER: OptionProblem = {
  path: 'useFactory',
  expected: 'a function that returns the options, or `useClass` or `useExisting`',
  given: 'none of them',
};

const NO_METHOD: OptionProblem = {
  path: 'useClass',
  expected: 'a class with the method `createAnalyticsOptions()`; the same goes for `useExisting`',
  given: 'one without it',
};

const FIRST_CHECK = Symbol.for('nestjs-analytics:first-check');
const IMPORT_CHECK = Symbol.for('nestjs-analytics:import-check');

/**
 * Gives an application `AnalyticsService`, and delivers the messages that it takes. Import it once, in the
 * root module.
 *
 * @example
 * AnalyticsModule.forRoot({ writeKey: 'wk_shop', webhooks: { urls: ['https://hooks.example.com/events'] } })
 */
@Module({
  providers: [
    { provide: FIRST_CHECK, useFactory: refuseFirstBareImport },
    { provide: IMPORT_CHECK, inject: [ModulesContainer], useFactory: refuseBareImports },
  ],
})
export class AnalyticsModule extends ConfigurableModuleClass {
  /**
   * Returns the module with its options and extras. When the application starts, one `InvalidOptionsError` reports
   * everything that is wrong with them.
   */
  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    return complete(super.forRoot(withSourceNames(options)));
  }

  /**
   * Returns the module with options that a factory or a class makes, and with the extras next to it.
   *
   * @throws InvalidOptionsError without any of `useFactory`, `useClass` and `useExisting`. At start, it also
   *   reports a class without `createAnalyticsOptions()`
   */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    if (!isRecord(options) || MAKERS.every((maker) => isAbsent(options[maker])))
      throw new InvalidOptionsError([NO_MAKER]);
    const definition = super.forRootAsync(options);
    return complete(isAbsent(options.useFactory) ? checkingFactory(definition) : definition);
  }

  /**
   * Always throws, since this module has no features: import it once, and inject its services anywhere.
   *
   * @throws InvalidImportError always
   */
  static forFeature(this: never): never {
    throw InvalidImportError.forFeature();
  }
}

/** Adds a check that `createAnalyticsOptions` exists. Without the check, Nest's error would only name Nest's code. */
function checkingFactory(definition: DynamicModule): DynamicModule {
  const providers = (definition.providers ?? []).map((provider): Provider => {
    if (!('useFactory' in provider) || provider.provide !== MODULE_OPTIONS) return provider;
    return {
      ...provider,
      useFactory: (factory: unknown): unknown => {
        if (!hasMethod(factory)) throw new InvalidOptionsError([NO_METHOD]);
        return provider.useFactory(factory);
      },
    };
  });
  return { ...definition, providers };
}

function hasMethod(factory: unknown): boolean {
  return isRecord(factory) && typeof factory.createAnalyticsOptions === 'function';
}

/**
 * Adds everything but the options. Also imports the bare class, which is empty: Nest can override a module that is
 * imported by its class, but not one that `forRoot` returned. The testing module takes the place of the bare class.
 */
function complete(definition: DynamicModule): DynamicModule {
  return {
    ...definition,
    imports: [AnalyticsModule, DecoratorRuntimeModule, ...(definition.imports ?? [])],
    providers: [...ANALYTICS_PROVIDERS, ...(definition.providers ?? [])],
    exports: [...ANALYTICS_EXPORTS, ...(definition.exports ?? [])],
  };
}

/**
 * Has no dependency, so that it runs before Nest reports services that it cannot resolve. Once `forRoot` was called in
 * this process, only `refuseBareImports` can tell.
 */
function refuseFirstBareImport(): void {
  if (!isSetUp()) throw InvalidImportError.bare();
}

/** Only the modules that `forRoot` returns may import the bare class, which has no options. */
function refuseBareImports(modules: ModulesContainer): void {
  const isComplete = new Set([...modules.values()].filter(({ providers }) => providers.has(MODULE_EXTRAS)));
  for (const bare of modules.values()) {
    if (bare.metatype !== AnalyticsModule || isComplete.has(bare)) continue;
    const importing = [...modules.values()].filter(({ imports }) => imports.has(bare));
    if (importing.length === 0 || importing.some((module) => !isComplete.has(module)))
      throw InvalidImportError.bare();
  }
}

/** Adds `sourceNames` if it is left out or `undefined`. Untyped code may pass no options at all. */
function withSourceNames(options: typeof OPTIONS_TYPE): typeof OPTIONS_TYPE {
  const { sourceNames = sourceNamesOf(options) } = { ...options };
  return { ...options, sourceNames };
}

/** Wrong `sources` are reported when the options are checked. Untyped code may pass anything. */
function sourceNamesOf(options: unknown): string[] {
  const sources = isRecord(options) ? options.sources : undefined;
  if (!Array.isArray(sources)) return [DEFAULT_SOURCE];
  return sources.map((source: unknown) => (isRecord(source) ? source.name : undefined)).filter(isName);
}

function isName(name: unknown): name is string {
  return typeof name === 'string';
}
