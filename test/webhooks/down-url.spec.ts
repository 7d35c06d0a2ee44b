import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { DeliveryResult } from '../../src/destinations/destination.js';
import { DeliveriesService } from '../../src/index.js';
import { WebhookClient } from '../../src/webhooks/http/webhook-client.js';
import type { EndpointObserver } from '../../src/webhooks/endpoint-state.js';
import type { WebhooksDestination } from '../../src/webhooks/webhooks-destination.js';
import { createCertificates, type Certificates } from '../support/certificates.js';
import { deliverOne } from '../support/deliver-one.js';
import { freePort } from '../support/free-port.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { webhooksDestination } from '../support/webhooks-destination.js';

const newConnection = quickConnections();
/** The first probe comes after a few milliseconds. */
const RETRY_WINDOW = 20_000;
const FAILURES_UNTIL_DOWN = 5;

describe('a URL that is down', () => {
  const stage = new Stage();
  const clients: WebhookClient[] = [];
  let certificates: Certificates;

  beforeAll(() => {
    certificates = createCertificates();
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });

  /** Returns a destination whose URL is down because nothing listens on its port, and the reports about the URL. */
  async function downDestination(port: number): Promise<{ to: WebhooksDestination; told: string[] }> {
    const told: string[] = [];
    const observer: EndpointObserver = {
      onOutcome: () => undefined,
      onDown: () => told.push('down'),
      onUp: (_endpoint, { status, error }) => told.push(`up: ${status ?? error}`),
    };
    const client = new WebhookClient({ connections: 1, allowPrivateNetwork: true, ca: certificates.ca });
    clients.push(client);
    const options = { retryWindow: RETRY_WINDOW };
    const to = webhooksDestination(client, [`https://127.0.0.1:${port}/`], options, observer);
    for (let n = 0; n < FAILURES_UNTIL_DOWN; n++) await deliver(to);
    expect(told).toEqual(['down']);
    return { to, told };
  }

  /** Delivers a message as soon as the URL gets requests. */
  function deliver(to: WebhooksDestination): Promise<DeliveryResult> {
    return until(async () => {
      const result = await deliverOne(to, { id: 'm-1', body: '{}', outcomes: [] });
      return result?.class === 'deferred' ? undefined : result;
    });
  }

  it('is not reported up by an untrusted certificate, but by its next answer', async () => {
    const port = await freePort();
    const { to, told } = await downDestination(port);

    const expired = await stage.receiver({ port, tls: certificates.expired });
    expect(await deliver(to)).toMatchObject({ class: 'permanent', outcomes: [{ error: 'TLS_EXPIRED' }] });
    expect(told).toEqual(['down']);
    await expired.close();

    await stage.receiver({ port, tls: certificates.good, answer: [404] });
    expect(await deliver(to)).toMatchObject({ class: 'permanent', outcomes: [{ status: 404 }] });
    expect(told).toEqual(['down', 'up: 404']);
  });

  it('is still listed as down while its certificate is not trusted', async () => {
    const port = await freePort();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: {
        urls: [`https://127.0.0.1:${port}/`],
        allowPrivateNetwork: true,
        retryWindow: RETRY_WINDOW,
      },
    });
    const events: string[] = [];
    app.context.get(DeliveriesService).endpoints$.subscribe(({ type }) => events.push(type));
    app.analytics.track({ userId: 'u1', event: 'E' });
    await app.analytics.flush();
    await until(() => events.includes('down') || undefined);
    await stage.receiver({ port, tls: certificates.selfSigned });
    await app.settled();
    expect(await app.queue.getFailedCount()).toBe(1);
    expect(events).toEqual(['down', 'exhausted']);
    expect(app.analytics.status().endpointsDown).toHaveLength(1);
  });
});
