import { getQueueToken } from '@nestjs/bullmq';
import {
  type INestApplicationContext,
  Module,
  type ModuleMetadata,
  type NestApplicationOptions,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ANALYTICS_QUEUE,
  ANALYTICS_QUEUES,
  AnalyticsModule,
  type AnalyticsModuleExtras,
  type AnalyticsModuleOptions,
  AnalyticsService,
  type SourceOptions,
} from '../../src/index.js';
import type { BatchJobQueue } from '../../src/queue/queue-backend.js';
import { LogLines } from './log-lines.js';
import { until } from './until.js';

@Module({})
class AppModule {}

/** The options of a test's application. `writeKey` is added if neither `writeKey` nor `sources` is given. */
export type AppOptions = Omit<AnalyticsModuleOptions, 'writeKey' | 'sources'> &
  AnalyticsModuleExtras & { writeKey?: string; sources?: SourceOptions[] };
export type BatchJobOf = Awaited<ReturnType<BatchJobQueue['getFailed']>>[number];

/** Returns the options for `forRoot` from the options of a test's application. */
export function moduleOptions(options: AppOptions): AnalyticsModuleOptions & AnalyticsModuleExtras {
  const { sources } = options;
  return { ...(sources === undefined && { writeKey: 'wk_test' }), ...options } as AnalyticsModuleOptions;
}

/** A Nest application without a web server whose only feature is this module. */
export class AnalyticsApp {
  private closing: Promise<void> | undefined;

  private constructor(
    readonly context: INestApplicationContext,
    readonly log: LogLines,
  ) {}

  static start({ isGlobal, worker, ...options }: AppOptions): Promise<AnalyticsApp> {
    const analytics = AnalyticsModule.forRoot({
      ...moduleOptions(options),
      ...(isGlobal !== undefined && { isGlobal }),
      ...(worker !== undefined && { worker }),
    });
    return AnalyticsApp.startWith([analytics]);
  }

  /** Starts an application with these imports. */
  static async startWith(imports: NonNullable<ModuleMetadata['imports']>): Promise<AnalyticsApp> {
    const log = new LogLines();
    const options: NestApplicationOptions = { logger: log, abortOnError: false };
    const context = await NestFactory.createApplicationContext({ module: AppModule, imports }, options);
    return new AnalyticsApp(context, log);
  }

  get analytics(): AnalyticsService {
    return this.context.get(AnalyticsService);
  }

  get queue(): BatchJobQueue {
    return this.context.get<BatchJobQueue>(getQueueToken(ANALYTICS_QUEUE));
  }

  /** All partitions of the queue. */
  get queues(): readonly BatchJobQueue[] {
    return this.context.get<readonly BatchJobQueue[]>(ANALYTICS_QUEUES);
  }

  /** Resolves when no job is waiting, active or delayed. */
  async settled(): Promise<void> {
    await until(
      async () => {
        const counts = await Promise.all(
          this.queues.map((queue) => queue.getJobCounts('wait', 'prioritized', 'active', 'delayed')),
        );
        return counts.flatMap((one) => Object.values(one)).every((count) => count === 0) ? true : undefined;
      },
      20,
      200,
    );
  }

  /** Resolves to the jobs that failed for good, as soon as there is one. */
  failedJobs(): Promise<BatchJobOf[]> {
    return until(async () => {
      const jobs = (await Promise.all(this.queues.map((queue) => queue.getFailed()))).flat();
      return jobs.length > 0 ? jobs : undefined;
    });
  }

  /** May be called more than once. */
  close(): Promise<void> {
    this.closing ??= this.context.close();
    return this.closing;
  }
}
