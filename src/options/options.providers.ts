import type { Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { QueueOptions } from 'bullmq';
import { DuplicateModuleError, InvalidImportError, InvalidOptionsError } from '../errors/setup.errors.js';
import type { OptionProblem } from '../errors/option-problem.js';
import { MODULE_EXTRAS, MODULE_OPTIONS, RECORDING, RESOLVED_OPTIONS } from './options.tokens.js';
import { type RecordedState, recordedOptions } from './recorded-options.js';
import type { ModuleExtras } from './resolve-options.js';
import type { ResolvedOptions } from './resolved-options.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

/**
 * The host application's `BullModule.forRoot` options, under the token that `@nestjs/bullmq` gives them. The token is
 * spelled out, since an application without queues of its own does not need that package.
 */
const HOST_CONFIG = { token: 'BULLMQ_CONFIG(default)', optional: true };

const REQUEST_SCOPED: OptionProblem = {
  path: 'inject',
  expected: 'providers that are created once for the application',
  given: 'one that is created for each request (`Scope.REQUEST`, or one that injects `REQUEST`)',
};

// The checks are imported only here: a program that only verifies webhooks has no options.
async function resolve(
  options: unknown,
  extras: ModuleExtras,
  modules: ModulesContainer,
  host: Partial<QueueOptions> | undefined,
  recording: RecordedState | undefined,
): Promise<ResolvedOptions> {
  const instances = [...modules.values()].filter((module) => module.providers.has(RESOLVED_OPTIONS));
  if (instances.length > 1) {
    throw recording === undefined ? new DuplicateModuleError() : InvalidImportError.testing();
  }
  // Each request would create a client, a queue and its connections; nothing would close them or deliver messages.
  // Newer versions of Nest refuse this themselves.
  if (
    instances.some((module) => module.providers.get(RESOLVED_OPTIONS)?.isDependencyTreeStatic() === false)
  ) {
    throw new InvalidOptionsError([REQUEST_SCOPED]);
  }
  const [{ resolveOptions }, { warnAtStart }] = await Promise.all([
    import('./resolve-options.js'),
    import('./warn-at-start.js'),
  ]);
  const resolved = resolveOptions(options, {
    ...extras,
    hostConnection: host?.connection,
    hostPrefix: host?.prefix,
    isRecorded: recording !== undefined,
  });
  if (recording !== undefined) return recordedOptions(resolved, recording);
  warnAtStart(resolved, options, new AnalyticsLogger());
  return resolved;
}

/** Provides the checked and complete options, which everything else injects. */
export const OPTIONS_PROVIDERS: Provider[] = [
  {
    provide: RESOLVED_OPTIONS,
    inject: [
      MODULE_OPTIONS,
      MODULE_EXTRAS,
      ModulesContainer,
      HOST_CONFIG,
      { token: RECORDING, optional: true },
    ],
    useFactory: resolve,
  },
];
