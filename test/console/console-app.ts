import { randomBytes } from 'node:crypto';
import { authorize } from '../destinations-api/api-server.js';
import { type Platform, TrackingServer } from '../ingest/http/tracking-server.js';
import type { AppOptions } from '../support/analytics-app.js';
import type { TestConnection } from '../support/describe-backend.js';
import { Receiver, type ReceiverOptions } from '../support/receiver.js';

/** Returns options of an application with a console, which sends events at once, also to this machine. */
export function consoleOptions(options: AppOptions): AppOptions {
  return {
    flushAt: 1,
    destinations: { encryptionKey: randomBytes(32).toString('hex'), allowPrivateNetwork: true },
    console: { authorize },
    ...options,
  };
}

export interface ConsoleAppOptions {
  /** @default Express */
  platform?: Platform;
  answer?: ReceiverOptions['answer'];
  /** Options in addition to those of `consoleOptions`. */
  analytics?: (receiver: Receiver) => AppOptions;
}

/** An application with a console, and a receiver of its events. */
export class ConsoleApp {
  private constructor(
    readonly server: TrackingServer,
    readonly receiver: Receiver,
  ) {}

  static async start(connection: TestConnection, options: ConsoleAppOptions = {}): Promise<ConsoleApp> {
    const { platform = 'Express', answer, analytics } = options;
    const receiver = await Receiver.start({ ...(answer !== undefined && { answer }) });
    const server = await TrackingServer.start({
      platform,
      analytics: consoleOptions({ connection, ...analytics?.(receiver) }),
    });
    return new ConsoleApp(server, receiver);
  }

  /** URL of the console. */
  get url(): string {
    return `${this.server.url}/analytics`;
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.receiver.close();
  }
}
