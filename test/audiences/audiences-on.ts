import { AudiencesService } from '../../src/audiences/audiences.service.js';
import type { AudienceStore } from '../../src/options/audience-store.js';
import { ChangeSteps } from '../../src/audiences/change-steps.js';
import { DeletedMembers } from '../../src/audiences/deleted-members.js';
import { createAudienceStore } from '../../src/audiences/stores/create-audience-store.js';
import { RunningChanges } from '../../src/audiences/running-changes.js';
import { Membership } from '../../src/audiences/membership.js';
import { AnalyticsClient } from '../../src/client/analytics-client.js';
import type { AnalyticsClientOptions } from '../../src/client/analytics-client.types.js';
import { type Router, StaticRouter, type StaticRouterOptions } from '../../src/client/router.js';
import type { JobSink } from '../../src/client/sender.js';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import type { BatchJobQueue, QueueBackend } from '../../src/queue/queue-backend.js';
import type { TestConnection } from '../support/describe-backend.js';
import { openBackend } from '../support/open-backend.js';

/** Longer than any test, in milliseconds. */
const LONG = 600_000;
const SOURCES = ['web', 'server'] as const;

/** A call as the queue holds it. */
export interface QueuedCall {
  userId: string;
  traits: Record<string, unknown>;
  source: string;
}

export interface LifeOptions {
  /** Milliseconds after which the lock of a process that died is free. */
  lockDuration?: number;
  /** Number of users in one step. */
  stepSize?: number;
  client?: Partial<AnalyticsClientOptions>;
  /** Returns the destination for the calls of a source. @default one destination for all sources */
  destinationOf?: (source: string) => string;
  newRouter?: (options: StaticRouterOptions) => Router;
  /** Wraps the sink between the client and the queue. */
  wrapSink?: (sink: JobSink) => JobSink;
  wrapStore?: (store: AudienceStore) => AudienceStore;
}

/** The parts of one process that change audiences. */
export interface Life {
  audiences: AudiencesService;
  deleted: DeletedMembers;
  client: AnalyticsClient;
}

/** Audiences on a real database. No worker takes jobs from their queue, so that tests can inspect it. */
export class AudiencesOn {
  private readonly lives: Life[] = [];

  private constructor(
    private readonly queue: BatchJobQueue,
    private readonly backend: QueueBackend,
    readonly store: AudienceStore,
    private readonly read: Set<string>,
  ) {}

  /** @param read ids of jobs that `calls` leaves out; `calls` adds the ids of the jobs that it returns */
  static async open(connection: TestConnection, read = new Set<string>()): Promise<AudiencesOn> {
    const backend = await openBackend(connection);
    const queue = backend.createQueue(0, {});
    queue.on('error', () => undefined);
    return new AudiencesOn(queue, backend, await createAudienceStore(backend.storage), read);
  }

  /** Creates a client and a service like those of one process, unaware of those that other calls create. */
  live(options: LifeOptions = {}): Life {
    const { wrapSink = (sink) => sink, wrapStore = (store) => store, lockDuration = 20_000 } = options;
    const { destinationOf = () => 'webhooks', newRouter = (routes) => new StaticRouter(routes) } = options;
    const jobs = new BatchQueue([this.queue]);
    const connections = SOURCES.map((source) => ({
      source,
      destination: destinationOf(source),
      destinationName: 'Webhooks',
      failedRetention: LONG,
    }));
    const client = new AnalyticsClient(
      {
        router: newRouter({ connections }),
        sink: wrapSink({ add: (added) => jobs.add(added) }),
        observer: { onRefused: () => undefined, onAddFailed: () => undefined, onClosed: () => undefined },
      },
      {
        context: {},
        // Far away, so that calls get into the queue only when they are flushed explicitly.
        flushAt: 10_000,
        flushAfter: LONG,
        maxBufferedBytes: 64 * 1024 * 1024,
        beforeSend: undefined,
        ...options.client,
      },
    );
    const store = wrapStore(this.store);
    const running = new RunningChanges();
    const steps = new ChangeSteps(store, { lockDuration, signal: running.signal });
    const membership = new Membership(store, steps, client, options.stepSize);
    const deleted = new DeletedMembers(store, membership, () => undefined);
    const audiences = new AudiencesService(store, membership, {
      sources: SOURCES,
      defaults: {},
      patience: 1_000,
      running,
    });
    const life = { audiences, deleted, client };
    this.lives.push(life);
    return life;
  }

  /** Returns the calls that were queued since the last look, in the order in which they were queued. */
  async calls(): Promise<QueuedCall[]> {
    const jobs = await this.queue.getJobs(['waiting', 'prioritized'], 0, -1, true);
    const fresh = jobs.filter(({ id }) => id !== undefined && !this.read.has(id));
    for (const { id } of fresh) if (id !== undefined) this.read.add(id);
    return fresh
      .flatMap(({ data }) => data.batches)
      .flatMap(({ messages, source }) => messages.map(({ body }) => ({ ...readCall(body), source })));
  }

  async close(): Promise<void> {
    for (const { audiences, client } of this.lives) {
      await audiences.beforeApplicationShutdown();
      await client.close(100);
      audiences.onApplicationShutdown();
    }
    await this.queue.close();
    await this.backend.close();
  }
}

export async function membersOf({ audiences }: Pick<Life, 'audiences'>, name: string): Promise<string[]> {
  const members: string[] = [];
  for await (const userId of audiences.members(name)) members.push(userId);
  return members.sort();
}

function readCall(body: string): Omit<QueuedCall, 'source'> {
  const call: unknown = JSON.parse(body);
  if (typeof call !== 'object' || call === null || !('userId' in call) || !('traits' in call)) {
    throw new Error(`Not an identify call: ${body}`);
  }
  const { userId, traits } = call;
  if (typeof userId !== 'string' || typeof traits !== 'object' || traits === null) {
    throw new Error(`Not an identify call: ${body}`);
  }
  return { userId, traits: Object.fromEntries(Object.entries(traits)) };
}
