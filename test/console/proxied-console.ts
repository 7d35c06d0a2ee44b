import { ConsoleApp } from './console-app.js';
import { FrontProxy } from './front-proxy.js';

/** A console behind a proxy. */
export class ProxiedConsole {
  private constructor(
    readonly app: ConsoleApp,
    readonly proxy: FrontProxy,
  ) {}

  static async start(...given: Parameters<typeof ConsoleApp.start>): Promise<ProxiedConsole> {
    const app = await ConsoleApp.start(...given);
    return new ProxiedConsole(app, await FrontProxy.start(app.server.url));
  }

  get url(): string {
    return `${this.proxy.url}/analytics`;
  }

  async close(): Promise<void> {
    await this.proxy.close();
    await this.app.close();
  }
}
