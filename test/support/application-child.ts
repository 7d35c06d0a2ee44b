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

/** These hooks change the sources, so the process compiles the sources itself. */
const NEXT_FORMAT = ['./typescript-hooks.mjs', './next-format-hooks.mjs'].flatMap((hooks) => [
  '--import',
  new URL(hooks, import.meta.url).href,
]);
const APPLICATION = new URL('../e2e/children/application.ts', import.meta.url);

/** What an application in a process of its own has to do. */
export interface ApplicationPlan {
  connection: TestConnection | ClusterConnection | FaultyConnection;
  webhooks?: WebhooksOptions | WebhooksOptions[];
  sources?: SourceOptions[];
  destinations?: DestinationsOptions;
  outbox?: OutboxOptions;
  /**
   * Names of custom destinations, each with a source of the same name. A destination prints `called` with its name and
   * the event of the first message. It never settles a call for the event `Hang`.
   */
  custom?: string[];
  /** @default true */
  worker?: boolean;
  flushAfter?: number;
  shutdownTimeout?: number;
  unknownJobTimeout?: number;
  /** Takes a message for each of these ids, prints `taken`, … */
  take?: string[];
  /** … requests the deletion of each of these users, … */
  delete?: string[];
  /** … flushes, prints `queued`, … */
  flush?: boolean;
  /** … and ends: by a signal for its shutdown hooks, by a kill, by `app.close()`, or because nothing is left to do. */
  end: 'signal' | 'kill' | 'close' | 'nothing left to do';
  /** Waits for SIGUSR2 before it calls `app.close()`, and again during the close, where it prints `closing`. */
  isHeld?: boolean;
}

export interface ApplicationProcess {
  /** Environment variables to add to those of this process. */
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

/** Reads the plan in the child process. */
export function planFrom(value: unknown): ApplicationPlan {
  if (!isPlan(value)) throw new Error('An application needs a plan');
  return value;
}

function isPlan(value: unknown): value is ApplicationPlan {
  return typeof value === 'object' && value !== null && 'connection' in value && 'end' in value;
}
