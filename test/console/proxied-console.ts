import { ConsoleApp } from './console-app.js';
import { FrontProxy } from './front-proxy.js';

/** A console behind a proxy. */
export class ProxiedConsole {
  private constructor(
    readonly app: ConsoleApp,
    readonly proxy: FrontProxy,
    private readonly base: string,
  ) {}

  static async start(...given: Parameters<typeof ConsoleApp.start>): Promise<ProxiedConsole> {
    return ProxiedConsole.below('', ...given);
  }

  /** @param base path under which the proxy serves the application */
  static async below(base: string, ...given: Parameters<typeof ConsoleApp.start>): Promise<ProxiedConsole> {
    const app = await ConsoleApp.start(...given);
    return new ProxiedConsole(app, await FrontProxy.start(app.server.url, base), base);
  }

  /** URL at which a browser finds the application. */
  get root(): string {
    return this.proxy.url + this.base;
  }

  get url(): string {
    return `${this.root}/analytics`;
  }

  async close(): Promise<void> {
    await this.proxy.close();
    await this.app.close();
  }
}
