import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { beforeAll, expect, it } from '@jest/globals';
import { snippetsFor } from '../../../src/console/page/client-snippets.js';
import { Browser } from '../../support/browser.js';
import { describeWith } from '../../support/describe-backend.js';
import { createCertificates } from '../../support/certificates.js';
import { quickConnections } from '../../support/quick-connections.js';
import { readmeSnippet } from '../../support/readme-snippet.js';
import { messageIn } from '../../support/received-message.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { PLATFORMS, TrackingServer } from './tracking-server.js';

const PAGE = new URL('../../../docs/sources.md', import.meta.url);
const LIBRARY = new URL('../../../node_modules/@segment/analytics-next/dist/umd/index.js', import.meta.url);
const TIMEOUT = 90_000;
/** Gives a page the library by its name, as a bundler would. */
const IMPORTS = { '@segment/analytics-next': '/analytics-next.js' };
const MODULE = `import '/library.js'; export const { AnalyticsBrowser } = self.AnalyticsNext;`;

/** A shop whose page runs a script. */
class Shop {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async open(script: string): Promise<Shop> {
    const library = await readFile(LIBRARY);
    const page =
      `<!doctype html><title>Shoes</title><script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>` +
      `<script type="module">${script}</script>`;
    const server = createServer(({ url }, response) => {
      const isScript = url?.endsWith('.js') === true;
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      response.end(url === '/library.js' ? library : isScript ? MODULE : page);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('The server does not listen');
    return new Shop(server, `http://127.0.0.1:${address.port}/shoes`);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await once(this.server.close(), 'close');
  }
}

describeWith(
  'chromium',
  Browser.binary !== undefined,
  'the browser library with what the documentation says',
  () => {
    const stage = new Stage();
    const newConnection = quickConnections();
    const certificate = createCertificates().selfSigned;
    let documentation: string;

    beforeAll(async () => {
      documentation = await readFile(PAGE, 'utf8');
    });

    it.each(
      PLATFORMS.flatMap((platform) => [
        { platform, name: 'browser', path: '/v1/t' },
        { platform, name: 'browser batch', path: '/v1/b' },
      ]),
    )(
      'delivers an event from a page to a receiver: $name on $platform',
      async ({ platform, name, path }) => {
        const receiver = await stage.receiver();
        const server = await stage.add(
          TrackingServer.start({
            platform,
            https: certificate,
            analytics: {
              sources: [{ name: 'web', writeKey: 'wk_web' }],
              webhooks: webhooksTo(receiver),
              connection: await newConnection(),
            },
          }),
        );
        const paths: string[] = [];
        server.app
          .getHttpServer()
          .on('request', ({ method = '', url = '' }) => paths.push(`${method} ${url}`));
        const shop = await stage.add(Shop.open(readmeSnippet(documentation, name)));
        const hosts = { 'events.example.com': new URL(server.url).host };
        await stage.add(Browser.open(shop.url, { hosts }));

        const message = await until(() =>
          receiver.requests.map(messageIn).find(({ event }) => event === 'Item Purchased'),
        );
        expect(message).toMatchObject({
          type: 'track',
          anonymousId: expect.any(String),
          properties: { revenue: 39.95 },
          context: {
            library: { name: 'analytics.js' },
            page: { url: shop.url, title: 'Shoes' },
            ip: '127.0.0.1',
          },
        });
        expect(paths).toContain(`POST ${path}`);
        expect(server.log.analytics.filter((line) => line.includes('401'))).toEqual([]);
      },
      TIMEOUT,
    );

    it(
      'delivers an event with the snippet that the console shows for an application without TLS',
      async () => {
        const receiver = await stage.receiver();
        const server = await stage.add(
          TrackingServer.start({
            platform: 'Express',
            analytics: {
              sources: [{ name: 'web', writeKey: 'wk_web' }],
              webhooks: webhooksTo(receiver),
              connection: await newConnection(),
            },
          }),
        );
        const snippets = snippetsFor({ origin: server.url, path: '', writeKey: 'wk_web' });
        const shop = await stage.add(Shop.open(snippets['A web page, with @segment/analytics-next'] ?? ''));
        await stage.add(Browser.open(shop.url, { hosts: {} }));
        const events = await until(() => {
          const received = receiver.requests.map((request) => messageIn(request).event);
          return received.includes('Item Purchased') ? received : undefined;
        });
        expect(events).toContain('Item Purchased');
      },
      TIMEOUT,
    );
  },
);
