import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable } from '@nestjs/common';
import { type AnalyticsMessage, AnalyticsService, Track } from '../../../src/index.js';
import { AnalyticsTestingModule, RecordedAnalytics } from '../../../src/testing/index.js';
import { messageIn, type ReceivedMessage } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { DecoratedApps } from './support/decorated-app.js';

const MAX_MESSAGE_BYTES = 32_768;
/** Leaves room in a message for what the application and a common browser add. */
const LARGE = { text: 'x'.repeat(32_000) };
/** Context that the request gives as well. */
const OWN = { ip: '127.0.0.1' };
const LONG = 'x'.repeat(2_000);
const STRANGER = { 'user-agent': LONG, referer: LONG, 'accept-language': LONG };
const CUSTOMER = { 'user-agent': 'Firefox', 'accept-language': 'de-CH' };

@Injectable()
class Orders {
  constructor(private readonly analytics: AnalyticsService) {}

  confirm(): void {
    this.analytics.track({ userId: 'u1', event: 'Confirmed', properties: LARGE, context: OWN });
  }

  pay(): Promise<string> {
    const transaction = { query: () => Promise.resolve() };
    return this.analytics.within(transaction).track({ userId: 'u1', event: 'Paid', properties: LARGE });
  }
}

@Controller()
class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Get('order')
  @Track('Ordered', { userId: 'u1', properties: LARGE })
  order(): void {
    this.orders.confirm();
  }

  @Get('pay')
  @Track('Looked', { userId: 'u1' })
  pay(): Promise<string> {
    return this.orders.pay();
  }

  @Get('listed')
  @Track('Listed', { userId: 'u1', properties: LARGE })
  listed(): void {
    // Whose event it is depends on the request.
  }

  @Get('too-large')
  @Track('Never', { userId: 'u1', properties: { text: LARGE.text + LONG } })
  tooLarge(): void {
    // Its event is refused, whoever sends the request.
  }
}

const SHOP = { controllers: [OrdersController], providers: [Orders] };
const apps = DecoratedApps.forThisFile();

describe.each([
  ['', {}],
  [' that its `beforeSend` has seen', { beforeSend: (message: unknown) => message as never }],
])('a message of nearly 32 KB from the host itself%s', (_case, hooks) => {
  const stage = new Stage();

  async function delivered(receiver: Receiver, count: number): Promise<ReceivedMessage[]> {
    const requests = await receiver.received(count);
    for (const { body } of requests) expect(body.length).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
    return requests.map(messageIn);
  }

  it('is sent whatever the headers of the request are, but without headers for which it has no room', async () => {
    const receiver = await stage.receiver();
    const analytics = { webhooks: webhooksTo(receiver), flushAt: 1, beforeSend: undefined, ...hooks };
    const app = await apps.start({ ...SHOP, analytics });
    const ask = (headers: Record<string, string>): Promise<unknown> => app.request('/order', { headers });
    expect(await Promise.all([ask(STRANGER), ask(CUSTOMER)])).toMatchObject([
      { status: 200 },
      { status: 200 },
    ]);
    const messages = await delivered(receiver, 4);
    const contextsOf = (event: string): unknown[] =>
      messages.filter((message) => message.event === event).map(({ context }) => context);
    const library: unknown = expect.objectContaining({ name: 'nestjs-analytics' });
    for (const [event, own] of [
      ['Ordered', {}],
      ['Confirmed', OWN],
    ] as const) {
      const contexts = contextsOf(event);
      expect(contexts).toHaveLength(2);
      expect(contexts).toContainEqual({ library, ...own });
      expect(contexts).toContainEqual(expect.objectContaining({ userAgent: 'Firefox', locale: 'de-CH' }));
    }
    expect(app.logs.about('32 KB')).toEqual([]);
  });

  it('is stored in a transaction in the same way', async () => {
    const imports = [AnalyticsTestingModule.forRoot({ ...hooks })];
    const app = await apps.start({ ...SHOP, withoutAnalytics: true, imports });
    const recorded = app.get(RecordedAnalytics);
    expect(await app.request('/pay', { headers: STRANGER })).toMatchObject({ status: 200 });
    expect(await app.request('/pay', { headers: CUSTOMER })).toMatchObject({ status: 200 });
    const paid = recorded.messages.filter((message) => message.type === 'track' && message.event === 'Paid');
    expect(paid.map(({ context }) => context.userAgent)).toEqual([undefined, 'Firefox']);
  });

  it('is refused if the headers for which it has no room decide whose event it is', async () => {
    const receiver = await stage.receiver();
    const destinations = {
      encryptionKey: false as const,
      tenant: ({ context }: AnalyticsMessage) => (context.userAgent === undefined ? undefined : 'acme'),
    };
    const analytics = { webhooks: webhooksTo(receiver), destinations, beforeSend: undefined, ...hooks };
    const app = await apps.start({ ...SHOP, analytics });
    await app.request('/listed', { headers: STRANGER });
    expect(app.logs.about('32 KB')).toEqual([expect.stringMatching(/@Track\("Listed"\)/)]);
    await app.request('/listed', { headers: CUSTOMER });
    expect(await delivered(receiver, 1)).toHaveLength(1);
  });

  it('is refused if it is too large by itself, and its size is logged', async () => {
    const receiver = await stage.receiver();
    const analytics = { webhooks: webhooksTo(receiver), beforeSend: undefined, ...hooks };
    const app = await apps.start({ ...SHOP, analytics });
    await app.request('/too-large', { headers: STRANGER });
    expect(app.logs.about('32 KB')).toEqual([
      expect.stringMatching(/@Track\("Never"\) .* The message is 342\d\d bytes/),
    ]);
  });
});
