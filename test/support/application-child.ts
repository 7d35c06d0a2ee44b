import { fileURLToPath } from 'node:url';
import type {
  ClusterConnection,
  DestinationsOptions,
  OutboxOptions,
  SourceOptions,
  WebhooksOptions,
} from '../../src/index.js';
import { GuardedChild, scriptArguments, UNOPTIMIZED } from './child-process.js';
import type { TestConnection } from './describe-backend.js';
import type { FaultyConnection } from './faulty-queues.js';

/** They change the sources, so those are compiled by the process itself. */
const NEXT_FORMAT = ['./typescript-hooks.mjs', './next-format-hooks.mjs'].flatMap((hooks) => [
  '--import',
  new URL(hooks, import.meta.url).href,
]);
const APPLICATION = new URL('../e2e/children/application.ts', import.meta.url);

/** What an application in a process of its own is to do. */
export interface ApplicationPlan {
  connection: TestConnection | ClusterConnection | FaultyConnection;
  webhooks?: WebhooksOptions | WebhooksOptions[];
  sources?: SourceOptions[];
  destinations?: DestinationsOptions;
  outbox?: OutboxOptions;
  /**
   * Names of custom destinations, each for the source of its name. They say `called` with their name and the event of the
   * first message, and never answer a call for the event `Hang`.
   */
  custom?: string[];
  /** @default true */
  worker?: boolean;
  flushAfter?: number;
  shutdownTimeout?: number;
  unknownJobTimeout?: number;
  /** Takes a message for each of these ids, says `taken`, … */
  take?: string[];
  /** … requests the deletion of each of these users, … */
  delete?: string[];
  /** … flushes, says `queued`, … */
  flush?: boolean;
  /** … and ends: by a signal that its shutdown hooks hear, by a kill, by `app.close()`, or because it has no more to do. */
  end: 'signal' | 'kill' | 'close' | 'nothing left to do';
  /** Waits for SIGUSR2 before it calls `app.close()`, and in the middle of that, where it says `closing`. */
  isHeld?: boolean;
}

export interface ApplicationProcess {
  /** Set in its environment beside what is there. */
  env?: NodeJS.ProcessEnv;
  /** Runs a build whose jobs have the next format. @default false */
  next?: boolean;
}

export function startApplication(
  plan: ApplicationPlan,
  { env = {}, next = false }: ApplicationProcess = {},
): Promise<GuardedChild> {
  const script = next
    ? [UNOPTIMIZED, ...NEXT_FORMAT, fileURLToPath(APPLICATION)]
    : scriptArguments(APPLICATION);
  return GuardedChild.start(process.execPath, [...script, JSON.stringify(plan)], {
    env: { ...process.env, ...env },
  });
}

/** Reads the plan in the process that it was made for. */
export function planFrom(value: unknown): ApplicationPlan {
  if (!isPlan(value)) throw new Error('An application needs a plan');
  return value;
}

function isPlan(value: unknown): value is ApplicationPlan {
  return typeof value === 'object' && value !== null && 'connection' in value && 'end' in value;
}
