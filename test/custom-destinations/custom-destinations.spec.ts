import { expect, it } from '@jest/globals';
import { Global, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import {
  AnalyticsModule,
  AnalyticsService,
  type CustomDestination,
  type DeliveredMessage,
  DeliveriesService,
  type DeliveryContext,
  type EndpointEvent,
  type FlushResult,
  type MessageOutcome,
  type MessageResult,
  PermanentDeliveryError,
} from '../../src/index.js';
import { type AnalyticsApp, type AppOptions, moduleOptions } from '../support/analytics-app.js';
import { describeAnyServer, describeServersOrEmbedded } from '../support/describe-backend.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';

interface Call {
  messages: readonly DeliveredMessage[];
  context: DeliveryContext;
}

/** A destination that records its calls, and answers one after the other. */
class Warehouse implements CustomDestination {
  readonly id: string = 'warehouse';
  readonly retryWindow = 3_000;
  readonly calls: Call[] = [];

  constructor(private readonly answer: (call: number, call_: Call) => unknown = () => undefined) {}

  async deliver(
    messages: readonly DeliveredMessage[],
    context: DeliveryContext,
  ): Promise<readonly MessageResult[] | undefined> {
    const call = { messages, context };
    this.calls.push(call);
    return (await this.answer(this.calls.length, call)) as readonly MessageResult[] | undefined;
  }

  get events(): string[] {
    return this.calls.flatMap(({ messages }) => messages.map(eventOf));
  }

  called(times: number): Promise<Call[]> {
    return until(() => (this.calls.length >= times ? this.calls : undefined));
  }
}

const eventOf = (message: DeliveredMessage): string =>
  message.type === 'track' ? message.event : message.type;

async function track(app: AnalyticsApp, ...events: string[]): Promise<void> {
  for (const event of events) app.analytics.track({ userId: 'u1', event, messageId: `id-${event}` });
  await app.analytics.flush();
}

describeAnyServer('a custom destination', (backend) => {
  const stage = new Stage();

  function start(
    customDestinations: AppOptions['customDestinations'],
    options: AppOptions = {},
  ): Promise<AnalyticsApp> {
    return stage.app({ connection: backend.connection, customDestinations, ...options });
  }

  it('gets messages in batches, as they were tracked', async () => {
    const warehouse = new Warehouse();
    const app = await start([warehouse]);
    const { analytics } = app;
    analytics.track({ userId: 'u1', event: 'E', properties: { total: 5 }, messageId: 'm1' });
    analytics.alias({ userId: 'u1', previousId: 'u0' });
    analytics.delete({ userId: 'u2' });
    await analytics.flush();
    await app.settled();
    const [call, ...others] = warehouse.calls;
    expect(others).toHaveLength(0);
    expect(call?.context).toEqual({ attempt: 1, signal: expect.any(AbortSignal) });
    expect(call?.messages).toEqual([
      {
        messageId: 'm1',
        type: 'track',
        userId: 'u1',
        event: 'E',
        properties: { total: 5 },
        context: expect.any(Object),
        timestamp: expect.any(String),
      },
      expect.objectContaining({ type: 'alias', userId: 'u1', previousId: 'u0' }),
      expect.objectContaining({ type: 'delete', userId: 'u2', context: {} }),
    ]);
  });

  it('gets no more messages in a call than its `batchSize`', async () => {
    const warehouse = Object.assign(new Warehouse(), { batchSize: 2 });
    const app = await start([warehouse]);
    await track(app, 'one', 'two', 'three');
    await app.settled();
    expect(warehouse.calls.map(({ messages }) => messages.length).sort()).toEqual([1, 2]);
    expect(warehouse.events.sort()).toEqual(['one', 'three', 'two']);
  });

  it('gets messages again while its code throws, with the number of the attempt', async () => {
    const warehouse = new Warehouse((call) => {
      if (call < 3) throw Object.assign(new Error('no room'), { code: 'WAREHOUSE_FULL' });
    });
    const app = await start([warehouse]);
    const outcomes: MessageOutcome[] = [];
    app.context.get(DeliveriesService).outcomes$.subscribe((outcome) => outcomes.push(outcome));
    await track(app, 'E');
    await app.settled();
    expect(warehouse.calls.map(({ context }) => context.attempt)).toEqual([1, 2, 3]);
    const last = await until(() => outcomes.find((outcome) => outcome.class === 'delivered'));
    expect(last.outcomes).toMatchObject([{ url: 'warehouse', class: 'delivered', attempt: 3 }]);
    expect(outcomes[0]).toMatchObject({
      class: 'retry',
      destination: 'warehouse',
      outcomes: [{ error: 'WAREHOUSE_FULL', excerpt: 'no room', attempt: 1 }],
    });
  });

  it('has each message settled by its own result, and gets failed messages again when they are replayed', async () => {
    const warehouse = new Warehouse((call) =>
      call > 1
        ? []
        : [
            { messageId: 'id-retried', error: new Error('busy') },
            { messageId: 'id-refused', error: new PermanentDeliveryError('no such table') },
            { messageId: 'id-wrong', error: 'not a number', permanent: true },
            { messageId: 'id-told' },
          ],
    );
    const app = await start([warehouse]);
    await track(app, 'retried', 'refused', 'wrong', 'told', 'untold');
    await warehouse.called(2);
    expect(warehouse.calls[1]?.messages.map(eventOf)).toEqual(['retried']);
    const deliveries = app.context.get(DeliveriesService);
    const failed = await until(async () => {
      const found = await deliveries.failed({ destination: 'warehouse' });
      return found.length === 2 ? found : undefined;
    });
    const outcomes = failed.map(({ messageId, outcomes: [outcome] }) => [
      messageId,
      outcome?.error,
      outcome?.excerpt,
    ]);
    expect(outcomes.sort()).toEqual([
      ['id-refused', 'PERMANENT_DELIVERY', 'no such table'],
      ['id-wrong', 'DELIVERY_ERROR', 'not a number'],
    ]);
    await app.settled();
    expect(await deliveries.replay({ error: 'PERMANENT_DELIVERY' })).toBe(1);
    await warehouse.called(3);
    expect(warehouse.calls[2]?.messages.map(eventOf)).toEqual(['refused']);
    await app.settled();
    expect(await deliveries.failed()).toHaveLength(1);
  });

  it.each<[what: string, change: (messages: DeliveredMessage[]) => unknown]>([
    ['sorts', (messages) => messages.sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1))],
    ['empties', (messages) => messages.splice(0)],
    ['renames', (messages) => messages.map((message) => Object.assign(message, { messageId: 'mine' }))],
  ])('has the right messages settled even if it %s the messages that it gets', async (_, change) => {
    const warehouse = new Warehouse((_call, { messages }) => {
      change(messages as DeliveredMessage[]);
      return [{ messageId: 'late', error: new PermanentDeliveryError('refused') }];
    });
    const app = await start([warehouse]);
    app.analytics.track({ userId: 'u1', event: 'E', messageId: 'late', timestamp: '2026-11-02' });
    app.analytics.track({ userId: 'u1', event: 'E', messageId: 'early', timestamp: '2026-11-01' });
    await app.analytics.flush();
    await app.settled();
    const failed = await app.context.get(DeliveriesService).failed();
    expect(failed.map(({ messageId, outcomes: [outcome] }) => [messageId, outcome?.error])).toEqual([
      ['late', 'PERMANENT_DELIVERY'],
    ]);
  });

  it('has all messages of a call kept as failed if the call throws a `PermanentDeliveryError`', async () => {
    const warehouse = new Warehouse(() => {
      throw new PermanentDeliveryError('the table is gone');
    });
    const app = await start([warehouse]);
    await track(app, 'one', 'two');
    const [job] = await app.failedJobs();
    expect(job?.failedReason).toMatch(/^DELIVERY_FAILED/);
    const failed = await app.context.get(DeliveriesService).failed({ error: 'PERMANENT_DELIVERY' });
    expect(failed).toHaveLength(2);
    expect(warehouse.calls).toHaveLength(1);
    expect(await app.log.line(/"warehouse" does not take events: PERMANENT_DELIVERY/)).not.toContain('URL');
  });

  it('is selected by its name and its sources, and gets nothing when it is disabled', async () => {
    const sources = ['web', 'server'].map((name) => ({ name, writeKey: name }));
    const named = Object.assign(new Warehouse(), { name: 'Warehouse' });
    const ofServer = Object.assign(new Warehouse(), { id: 'of-server', sources: ['server'] });
    const off = Object.assign(new Warehouse(), { id: 'off', enabled: false });
    const app = await start([named, ofServer, off], { sources });
    const from = (name: string): AnalyticsService => app.analytics.source(name);
    from('web').track({ userId: 'u1', event: 'all' });
    from('server').track({ userId: 'u1', event: 'no name', integrations: { Warehouse: false } });
    from('server').track({ userId: 'u1', event: 'by name', integrations: { All: false, Warehouse: true } });
    from('server').track({ userId: 'u1', event: 'by id', integrations: { All: false, 'of-server': true } });
    await app.analytics.flush();
    await app.settled();
    expect(named.events.sort()).toEqual(['all', 'by name']);
    expect(ofServer.events.sort()).toEqual(['by id', 'no name']);
    expect(off.calls).toHaveLength(0);
  });

  it('sees its call aborted when the application shuts down, and gets the messages after the restart', async () => {
    const aborted: unknown[] = [];
    const hanging = new Warehouse((_, { context }) => {
      context.signal.addEventListener('abort', () => aborted.push(context.signal.reason));
      return new Promise(() => undefined);
    });
    const app = await start([hanging], { shutdownTimeout: 500 });
    await track(app, 'E');
    await hanging.called(1);
    await app.close();
    expect(aborted).toEqual([expect.objectContaining({ code: 'ANALYTICS_CLOSED' })]);
    const warehouse = new Warehouse();
    await start([warehouse]);
    await warehouse.called(1);
    expect(warehouse.events).toEqual(['E']);
  });

  it('may be a class that Nest injects providers into, even providers that track events', async () => {
    @Injectable()
    class Tables {
      readonly rows: string[] = [];
      constructor(readonly analytics: AnalyticsService) {
        analytics.track({ userId: 'u1', event: 'before the start' });
      }
    }
    @Module({ providers: [Tables], exports: [Tables] })
    class TablesModule {}
    @Injectable()
    class Made implements CustomDestination {
      readonly id = 'made';
      constructor(private readonly tables: Tables) {}
      deliver(messages: readonly DeliveredMessage[]): void {
        this.tables.rows.push(...messages.map((message) => `made ${eventOf(message)}`));
      }
    }
    @Injectable()
    class Provided implements CustomDestination {
      readonly id = 'provided';
      constructor(private readonly tables: Tables) {}
      async deliver(messages: readonly DeliveredMessage[]): Promise<void> {
        await Promise.resolve();
        this.tables.rows.push(...messages.map((message) => `provided ${eventOf(message)}`));
      }
    }
    @Module({ imports: [TablesModule], providers: [Provided] })
    class WarehouseModule {}
    const analytics = AnalyticsModule.forRootAsync({
      imports: [TablesModule],
      useFactory: () =>
        moduleOptions({ connection: backend.connection, customDestinations: [Made, Provided] }),
    });
    const app = await stage.appWith([analytics, WarehouseModule]);
    await track(app, 'E');
    await app.settled();
    expect(app.context.get(Tables).rows.sort()).toEqual([
      'made E',
      'made before the start',
      'provided E',
      'provided before the start',
    ]);
  });

  it('does not hold up the `flush` of a provider that is created before it, if it is a class', async () => {
    const FIRST_EVENT = Symbol('first event');
    const flushed: FlushResult[] = [];
    @Injectable()
    class Ready implements OnModuleInit {
      constructor(private readonly analytics: AnalyticsService) {}
      async onModuleInit(): Promise<void> {
        this.analytics.track({ userId: 'u1', event: 'ready', messageId: 'ready' });
        flushed.push(await this.analytics.flush());
      }
    }
    const firstEvent = {
      provide: FIRST_EVENT,
      inject: [AnalyticsService],
      useFactory: async (analytics: AnalyticsService) => {
        analytics.track({ userId: 'u1', event: 'made', messageId: 'made' });
        flushed.push(await analytics.flush());
      },
    };
    // Nest initializes global modules in the order in which they are imported.
    @Global()
    @Module({ providers: [Ready, firstEvent] })
    class EarlyModule {}
    class Made extends Warehouse {}
    const options = moduleOptions({ connection: backend.connection, customDestinations: [Made] });
    const app = await stage.appWith([EarlyModule, AnalyticsModule.forRoot(options)]);
    expect(flushed).toEqual([
      { queued: 0, refused: 0, pending: 1 },
      { queued: 0, refused: 0, pending: 2 },
    ]);
    expect(await app.analytics.flush()).toEqual({ queued: 2, refused: 0, pending: 0 });
  });

  it.each<[what: string, code: string, answer: () => unknown]>([
    ['never settles', 'TIMEOUT', () => new Promise(() => undefined)],
    ['returns a text', 'INVALID_DELIVERY_RESULT', () => 'done'],
    ['returns ids', 'INVALID_DELIVERY_RESULT', () => ['id-E']],
    ['returns the result of another message', 'INVALID_DELIVERY_RESULT', () => [{ messageId: 'another' }]],
    [
      'returns what throws when it is read',
      'INVALID_DELIVERY_RESULT',
      () => [
        Object.defineProperty({}, 'messageId', {
          get: () => {
            throw new Error('unreadable');
          },
        }),
      ],
    ],
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- that is what is tested
    ['rejects with nothing', 'DELIVERY_ERROR', () => Promise.reject(undefined)],
    [
      'throws a text',
      'DELIVERY_ERROR',
      () => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- that is what is tested
        throw 'no';
      },
    ],
  ])(
    'has its messages retried with an error code if `deliver` %s, and affects no other destination',
    async (_, code, answer) => {
      const wrong = { id: 'wrong', retryWindow: 60_000, timeout: 100, deliver: answer as () => undefined };
      const warehouse = new Warehouse((_call, { messages }) => {
        for (const message of messages) Object.assign(message, { messageId: 'changed', type: 'page' });
      });
      const app = await start([warehouse, wrong, Object.assign(new Warehouse(), { id: 'second' })]);
      const outcomes: MessageOutcome[] = [];
      app.context.get(DeliveriesService).outcomes$.subscribe((outcome) => outcomes.push(outcome));
      await track(app, 'E');
      const of = (id: string): Promise<MessageOutcome> =>
        until(() => outcomes.find(({ destination }) => destination === id));
      expect(await of('wrong')).toMatchObject({
        class: 'retry',
        messageId: 'id-E',
        outcomes: [{ error: code }],
      });
      expect(await of('warehouse')).toMatchObject({ class: 'delivered', messageId: 'id-E' });
      expect(await of('second')).toMatchObject({ class: 'delivered', messageId: 'id-E', type: 'track' });
      const line = await app.log.line(/"wrong" does not take events/);
      expect(line).toContain(code === 'TIMEOUT' ? 'TIMEOUT. It did not answer within 100 ms.' : code);
    },
  );

  it.each<[what: string, error: () => Error]>([
    ['an error', () => new TypeError('the password is teehee')],
    ['an error with a code', () => Object.assign(new TypeError('teehee'), { code: 'ECONNREFUSED' })],
  ])('has the place logged where it threw %s, but not the text of the error', async (_, error) => {
    const warehouse = new Warehouse((call) => {
      if (call === 1) throw error();
    });
    const app = await start([warehouse]);
    await track(app, 'E');
    const line = await app.log.line(/"warehouse" does not take events/);
    expect(line).toMatch(
      /: (DELIVERY_ERROR|ECONNREFUSED) \(threw TypeError at .*custom-destinations\.spec\.ts:\d+:\d+\)+\. Its messages/,
    );
    expect(line).not.toContain('teehee');
  });

  it('gets its messages again after throwing an error that cannot be read', async () => {
    const warehouse = new Warehouse((call) => {
      const get = (): never => {
        throw new Error('unreadable');
      };
      if (call === 1) throw Object.defineProperty(new Error(), 'stack', { get });
    });
    const app = await start([warehouse]);
    await track(app, 'E');
    await app.log.line(
      /"warehouse" does not take events: DELIVERY_ERROR \(threw an error that cannot be read\)/,
    );
    await app.settled();
    expect(warehouse.events).toEqual(['E', 'E']);
  });

  it('is down after five failures in a row, and refuses `sendTest` and `explain`', async () => {
    const warehouse = new Warehouse((call) => {
      if (call < 6) throw new Error('away');
    });
    const app = await start([warehouse]);
    const deliveries = app.context.get(DeliveriesService);
    const events: EndpointEvent[] = [];
    deliveries.endpoints$.subscribe((event) => events.push(event));
    await track(app, 'E');
    await app.settled();
    expect(events.map(({ type, destination }) => `${destination} ${type}`)).toEqual([
      'warehouse down',
      'warehouse up',
    ]);
    const message = { destination: 'warehouse', messageId: 'm', body: '{}' };
    await expect(deliveries.sendTest('warehouse')).rejects.toMatchObject({ code: 'NOT_A_WEBHOOK' });
    await expect(deliveries.explain(message)).rejects.toMatchObject({ code: 'NOT_A_WEBHOOK' });
  });

  it('has a history of each attempt, with the error that its code threw', async () => {
    const warehouse = new Warehouse((call) => {
      if (call === 1) throw Object.assign(new Error('no room'), { code: 'WAREHOUSE_FULL' });
    });
    const app = await start([warehouse]);
    const deliveries = app.context.get(DeliveriesService);
    await track(app, 'E');
    await app.settled();
    const query = { destination: 'warehouse' };
    const recent = await until(async () => {
      const found = await deliveries.recent(query);
      return found[0]?.state === 'delivered' ? found : undefined;
    });
    expect(recent).toMatchObject([
      {
        messageId: 'id-E',
        event: 'E',
        attempts: [{ class: 'retry', error: 'WAREHOUSE_FULL', excerpt: 'no room' }, { class: 'delivered' }],
      },
    ]);
    const hours = await deliveries.stats(query);
    expect(hours.map(({ delivered, retried }) => [delivered, retried])).toContainEqual([1, 1]);
  });
});

describeServersOrEmbedded('a custom destination', (backend) => {
  const stage = new Stage();

  it.each<[how: string, answer: (error: Error) => unknown, retried: string[]]>([
    ['answers with', (error) => [{ messageId: 'id-bad', error }], ['bad']],
    ['throws', (error) => Promise.reject(error), ['good', 'bad']],
  ])(
    'has the text of an error that it %s recorded without the characters that no database stores',
    async (_, answer, again) => {
      const warehouse = new Warehouse((call) =>
        call > 1 ? undefined : answer(new Error('row 1:\r\n\0 and \ud83d in a text')),
      );
      const second = Object.assign(new Warehouse(), { id: 'second' });
      const app = await stage.app({
        connection: backend.connection,
        customDestinations: [warehouse, second],
      });
      const outcomes: MessageOutcome[] = [];
      app.context.get(DeliveriesService).outcomes$.subscribe((outcome) => outcomes.push(outcome));
      await track(app, 'good', 'bad');
      const retried = await until(() =>
        outcomes.find((outcome) => outcome.class === 'retry' && outcome.messageId === 'id-bad'),
      );
      expect(retried.outcomes).toMatchObject([{ excerpt: 'row 1:\\r\\n\uFFFD and \uFFFD in a text' }]);
      await app.settled();
      expect(warehouse.events).toEqual(['good', 'bad', ...again]);
      expect(second.events).toEqual(['good', 'bad']);
    },
  );

  it('is not called for malformed messages of another program, which are kept as failed', async () => {
    const warehouse = new Warehouse();
    const app = await stage.app({ connection: backend.connection, customDestinations: [warehouse] });
    const messages = ['text', '[]', '{"type":"unknown"}'].map((body, n) => ({
      id: `m${n}`,
      body,
      outcomes: [],
    }));
    await app.queue.add('batch', {
      v: 2,
      batches: [{ destination: 'warehouse', source: 'default', messages }],
    });
    await app.failedJobs();
    const failed = await app.context.get(DeliveriesService).failed({ error: 'INVALID_MESSAGE' });
    expect(failed).toHaveLength(3);
    expect(warehouse.calls).toHaveLength(0);
  });
});
