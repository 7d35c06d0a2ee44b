import { afterEach } from '@jest/globals';
import type { ModuleMetadata } from '@nestjs/common';
import type { WebhooksOptions } from '../../src/index.js';
import { AnalyticsApp, type AppOptions } from './analytics-app.js';
import { Receiver, type ReceiverOptions } from './receiver.js';

/** Starts what a test needs, and closes everything after the test, in reverse order. */
export class Stage {
  private readonly running: { close(): Promise<unknown> }[] = [];

  /** @param after `afterAll` for what all tests of a `describe` share */
  constructor(after: typeof afterEach = afterEach) {
    after(() => this.clear());
  }

  app(options: AppOptions): Promise<AnalyticsApp> {
    return this.add(AnalyticsApp.start(options));
  }

  appWith(imports: NonNullable<ModuleMetadata['imports']>): Promise<AnalyticsApp> {
    return this.add(AnalyticsApp.startWith(imports));
  }

  receiver(options: ReceiverOptions = {}): Promise<Receiver> {
    return this.add(Receiver.start(options));
  }

  async add<T extends { close(): Promise<unknown> }>(starting: Promise<T>): Promise<T> {
    const started = await starting;
    this.running.push(started);
    return started;
  }

  private async clear(): Promise<void> {
    for (const running of this.running.splice(0).reverse()) await running.close();
  }
}

/** A webhooks destination that leads to receivers on the loopback interface. */
export function webhooksTo(
  receivers: Receiver | Receiver[],
  options: Partial<WebhooksOptions> = {},
): WebhooksOptions {
  return {
    urls: [receivers].flat().map((receiver) => receiver.url()),
    allowPrivateNetwork: true,
    ...options,
  };
}

/** Returns destinations by their ids, each with a source of the same name that all of its messages come from. */
export function destinationsBySource(
  urls: Record<string, string>,
  options: Partial<WebhooksOptions> = {},
): Pick<AppOptions, 'sources' | 'webhooks'> {
  const ids = Object.entries(urls);
  return {
    sources: ids.map(([name]) => ({ name, writeKey: name })),
    webhooks: ids.map(([id, url]) => ({
      id,
      urls: [url],
      sources: [id],
      allowPrivateNetwork: true,
      ...options,
    })),
  };
}
