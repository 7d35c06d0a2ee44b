import {
  AnalyticsHealthIndicator,
  ConsoleService,
  DeliveriesService,
  DestinationsService,
  type HourTotals,
  type MinuteTotals,
} from '../../src/index.js';
import type { TrackingServer } from '../ingest/http/tracking-server.js';
import type { TestConnection } from '../support/describe-backend.js';
import { until } from '../support/until.js';
import { ConsoleApp } from './console-app.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const HOURS = 7 * 24;
/** Statuses of the answers, by the path of the receiver. */
const ANSWERS: Record<string, number> = { '/works': 200, '/wrong': 400, '/away': 503 };
const EVENTS = ['Order Completed', 'Invoice Paid', 'Trial Started', 'Order Refunded'];

/** An application with a console that has something to show on every page. */
export class LivelyConsole {
  private constructor(
    private readonly app: ConsoleApp,
    /** Pages of the operator by name: what follows the `#`, and a text that the page shows. */
    readonly pages: Record<string, { hash: string; shows: string }>,
  ) {}

  static async start(connection: TestConnection): Promise<LivelyConsole> {
    const app = await ConsoleApp.start(connection, {
      answer: ({ url }) => ({ status: ANSWERS[url] ?? 200, body: '{"error":"the field total is missing"}' }),
      analytics: () => ({
        sources: [
          { name: 'web', writeKey: 'wk_web' },
          { name: 'app', writeKey: 'wk_app' },
        ],
      }),
    });
    const { server, receiver } = app;
    const destinations = server.app.get(DestinationsService);
    const add = async (tenant: string, name: string, path: string): Promise<string> => {
      const { id } = await destinations.create({ tenant, name, urls: [receiver.url(path)] });
      return id;
    };
    await add('acme', 'Acme, the warehouse', '/works');
    const wrong = await add('globex', 'Globex, the CRM', '/wrong');
    await add('initech', 'Initech, billing', '/away');
    await destinations.disable(await add('umbrella', 'Umbrella, the data lake', '/works'));
    const track = (tenant: string, count: number): string[] =>
      Array.from({ length: count }, (_, n) =>
        server.analytics
          .source(n % 3 === 0 ? 'app' : 'web')
          .tenant(tenant)
          .track({ userId: `u${n}`, event: EVENTS[n % EVENTS.length] ?? '', properties: { total: 10 * n } }),
      );
    track('acme', 12);
    const [messageId = ''] = track('globex', 3);
    track('initech', 6);
    const deliveries = server.app.get(DeliveriesService);
    await until(async () => {
      const failed = await deliveries.countFailed({ destination: wrong });
      return failed === 3 ? true : undefined;
    });
    showPast(server);
    return new LivelyConsole(app, {
      overview: { hash: '#/', shows: 'The last seven days' },
      destinations: { hash: '#/destinations', shows: 'Umbrella, the data lake' },
      destination: { hash: `#/destinations/${wrong}`, shows: '400 track' },
      message: { hash: `#/destinations/${wrong}/messages/${messageId}`, shows: 'The same with curl' },
      'new destination': { hash: '#/new', shows: 'Add a destination' },
      sources: { hash: '#/sources', shows: 'Since this process started' },
    });
  }

  get url(): string {
    return this.app.url;
  }

  /** Makes a call that the page of live events shows. */
  track(): void {
    this.app.server.analytics.tenant('acme').track({ userId: 'u1', event: 'Order Completed' });
  }

  /** Makes six calls for the page of live events, one of them of a tenant without a destination. */
  live(): void {
    for (const [n, tenant] of ['initech', 'hooli', 'acme', 'globex', 'acme', 'globex'].entries()) {
      this.app.server.analytics
        .source(n % 2 === 0 ? 'web' : 'app')
        .tenant(tenant)
        .track({ userId: `u${n}`, event: EVENTS[n % EVENTS.length] ?? '', properties: { total: 10 * n } });
    }
  }

  /** Returns the path of a link for a tenant. */
  linkFor(tenant: string): string {
    return this.app.server.app.get(ConsoleService).linkFor({ tenant });
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

/** Feigns seven days of a shop, and a receiver that is down: the test has only run for a second. */
function showPast({ app }: TrackingServer): void {
  const deliveries = app.get(DeliveriesService);
  const past = (): Promise<HourTotals[]> => Promise.resolve(pastHours());
  const lately = (): Promise<MinuteTotals[]> => Promise.resolve(pastMinutes());
  Object.assign(deliveries, { totals: past, totalsByMinute: lately, stats: past });
  const indicator = app.get(AnalyticsHealthIndicator);
  const isHealthy = indicator.isHealthy.bind(indicator);
  Object.assign(indicator, {
    isHealthy: async (key: string) => {
      const { [key]: health } = await isHealthy(key);
      const down = {
        destination: 'dst_initech',
        url: 'hash',
        origin: 'https://hooks.initech.example',
        since: Date.now() - 23 * 60_000,
      };
      return { [key]: { ...health, waiting: 218, oldest: 40, endpointsDown: [down] } };
    },
  });
}

/** Returns seven days, busy by day and quiet at night, with five hours in which a receiver was down. */
function pastHours(): HourTotals[] {
  const now = Math.floor(Date.now() / HOUR) * HOUR;
  return Array.from({ length: HOURS }, (_, index) => {
    const wave = 1 + Math.sin((index / 24) * 2 * Math.PI);
    const isOutage = index > 100 && index < 106;
    return {
      hour: now - (HOURS - 1 - index) * HOUR,
      delivered: Math.round(300 + 900 * wave + 80 * Math.sin(index * 7)),
      retried: isOutage ? 520 : index % 9 === 0 ? 60 : 4,
      failed: isOutage ? 90 : index % 31 === 0 ? 25 : 0,
      durations: { p50: 38, p95: 120 + 40 * wave, p99: 310 + 90 * wave },
      // As if nothing was known of the hour of an upgrade.
      waiting: index === 60 ? undefined : isOutage ? 900 * (index - 100) : Math.round(30 + 60 * wave),
    };
  });
}

/** Returns an hour, at the end of which a receiver has been down for some twenty minutes. */
function pastMinutes(): MinuteTotals[] {
  const now = Math.floor(Date.now() / MINUTE) * MINUTE;
  return Array.from({ length: 60 }, (_, index) => {
    const isOutage = index > 36;
    return {
      minute: now - (59 - index) * MINUTE,
      delivered: Math.round((isOutage ? 9 : 14) + 4 * Math.sin(index) + 2 * Math.sin(index * 5)),
      retried: isOutage ? 4 + (index % 3) : index % 11 === 0 ? 1 : 0,
      failed: index === 44 ? 3 : 0,
      waiting: isOutage ? 12 + 9 * (index - 36) : 6 + (index % 5),
    };
  });
}
