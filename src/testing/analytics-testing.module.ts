import { type DynamicModule, Global, Module } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { AnalyticsModule } from '../analytics.module.js';
import type { AnalyticsModuleExtras } from '../analytics.module-definition.js';
import type { Recording } from '../client/analytics-client.types.js';
import { InvalidImportError } from '../errors/setup.errors.js';
import { isSetUp } from '../loaded-copies.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import { stringify } from '../messages/serialize.js';
import type { AnalyticsModuleOptions } from '../options/analytics-options.interface.js';
import { MODULE_EXTRAS, RECORDING } from '../options/options.tokens.js';
import type { OutboxOptions } from '../options/outbox-options.interface.js';
import type { RecordedState } from '../options/recorded-options.js';
import { MemoryAudienceStore } from './memory-audience-store.js';
import { RecordedAnalytics, RecordedMessages } from './recorded-analytics.js';
import type { RecordedMessage } from './recorded-message.types.js';
import { RecordingCore } from './recording-core.js';

/**
 * Options of `AnalyticsTestingModule.forRoot`: those of `AnalyticsModule.forRoot` that the code under test
 * depends on, such as `sources`, `events` and `identity`. None is required.
 */
export type AnalyticsTestingOptions = Partial<AnalyticsModuleOptions> &
  Pick<AnalyticsModuleExtras, 'trackingApi'>;

const TEST_WRITE_KEY = 'wk_test';
/** Makes `within()` work. This outbox is never opened. */
const TEST_OUTBOX: OutboxOptions = { connection: 'postgres://recorded.invalid/' };

const FIRST_CHECK = Symbol.for('nestjs-analytics:first-testing-check');
const IMPORT_CHECK = Symbol.for('nestjs-analytics:testing-import-check');

/** Has no dependency, so that it runs before Nest reports services that it cannot resolve. */
function refuseFirstBareImport(): void {
  if (!isSetUp()) throw InvalidImportError.bareTesting();
}

/** Refuses a bare import: the test would run without any service, and without an error. */
function refuseBareImports(modules: ModulesContainer): void {
  if ([...modules.values()].every(({ providers }) => !providers.has(MODULE_EXTRAS)))
    throw InvalidImportError.bareTesting();
}

function createRecording(recorded: RecordedMessages): RecordedState & Recording {
  const record = (message: AnalyticsMessage, source: string): void => {
    const sent = JSON.parse(stringify({ ...message })) as Omit<RecordedMessage, 'source'>;
    recorded.add({ ...sent, source } as RecordedMessage);
  };
  return {
    audienceStore: new MemoryAudienceStore(),
    createCore: (parts, options) => new RecordingCore(parts, options, record),
    // Records at once: whether the transaction is committed is not known here.
    store: {
      write: (_executor, { message, source }) => {
        record(message, source);
        return Promise.resolve();
      },
    },
  };
}

/**
 * Records what an application tracks instead of delivering it. The service, the decorators, the identity, the
 * schemas and every check are the real ones; there is no queue, no database, no network and no file.
 *
 * @example
 * // A unit test
 * Test.createTestingModule({ imports: [AnalyticsTestingModule.forRoot()], providers: [OrdersService] });
 * // An application, with its own options
 * Test.createTestingModule({ imports: [AppModule] })
 *   .overrideModule(AnalyticsModule).useModule(AnalyticsTestingModule);
 */
@Global()
@Module({
  providers: [
    { provide: FIRST_CHECK, useFactory: refuseFirstBareImport },
    { provide: IMPORT_CHECK, inject: [ModulesContainer], useFactory: refuseBareImports },
    { provide: RecordedMessages, useFactory: () => new RecordedMessages() },
    {
      provide: RecordedAnalytics,
      inject: [RecordedMessages],
      useFactory: (recorded: RecordedMessages) => new RecordedAnalytics(recorded),
    },
    { provide: RECORDING, inject: [RecordedMessages], useFactory: createRecording },
  ],
  exports: [RecordedAnalytics, RECORDING],
})
export class AnalyticsTestingModule {
  /** Returns the module for tests that do not import the application's own `AnalyticsModule`. */
  static forRoot(options: AnalyticsTestingOptions = {}): DynamicModule {
    const given = { outbox: TEST_OUTBOX, ...options };
    const named = options.sources === undefined ? { writeKey: TEST_WRITE_KEY, ...given } : given;
    return {
      module: AnalyticsTestingModule,
      imports: [AnalyticsModule.forRoot(named as AnalyticsModuleOptions)],
      exports: [AnalyticsModule],
    };
  }
}
