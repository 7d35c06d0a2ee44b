import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Pages of two other applications that show something in a frame. */
export class SettingsPages {
  /** Address of the page in the frame. */
  src = '';
  private readonly servers: Server[] = [];

  /** Resolves to the URLs of a page that may show the frame, and of a page that may not. */
  async start(): Promise<{ named: string; unnamed: string }> {
    const [named, unnamed] = [await this.serve(), await this.serve()];
    return { named, unnamed };
  }

  async close(): Promise<void> {
    for (const server of this.servers) {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  }

  private async serve(): Promise<string> {
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'text/html').end(`<iframe src="${this.src}"></iframe>`);
    });
    this.servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
}
