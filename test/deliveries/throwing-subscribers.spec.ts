import { describe, expect, it } from '@jest/globals';
import {
  config,
  filter,
  finalize,
  first,
  lastValueFrom,
  map,
  mergeWith,
  NEVER,
  type Observable,
  share,
  take,
  toArray,
} from 'rxjs';
import { DeliveriesService, DestinationsService, type MessageOutcome } from '../../src/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

describe('a subscriber that throws', () => {
  const stage = new Stage();

  async function starting(): Promise<{ app: AnalyticsApp; outcomes$: Observable<MessageOutcome> }> {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver) });
    return { app, outcomes$: app.context.get(DeliveriesService).outcomes$ };
  }

  /** Delivers two messages. Resolves once all subscribers have got both outcomes. */
  async function deliverTwo(app: AnalyticsApp): Promise<void> {
    const heard = lastValueFrom(app.context.get(DeliveriesService).outcomes$.pipe(take(2), toArray()));
    app.analytics.track({ userId: 'u1', event: 'Told' });
    app.analytics.track({ userId: 'u2', event: 'Told' });
    await app.analytics.flush();
    expect(await heard).toHaveLength(2);
    await app.settled();
  }

  const threw = (name: string): unknown =>
    expect.stringMatching(new RegExp(`^error: A subscriber of \`outcomes\\$\` threw ${name} at `));

  type Operators = (outcomes$: Observable<MessageOutcome>) => Observable<MessageOutcome>;

  it.each<[string, Operators]>([
    ['an operator', (outcomes$) => outcomes$.pipe(filter(() => true))],
    [
      'one operator after the other',
      (outcomes$) => outcomes$.pipe(map((one) => one)).pipe(filter(() => true)),
    ],
    ['an operator that shares a subscription', (outcomes$) => outcomes$.pipe(share())],
    ['an operator that adds another stream', (outcomes$) => outcomes$.pipe(mergeWith(NEVER))],
  ])('affects no other subscriber and stays subscribed after %s', async (_, operators) => {
    const { app, outcomes$ } = await starting();
    let told = 0;
    operators(outcomes$).subscribe((outcome) => {
      told++;
      throw new RangeError(`cannot stand ${outcome.messageId}`);
    });
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- what applications do
    operators(outcomes$).subscribe(async (outcome) => {
      await Promise.reject(new SyntaxError(outcome.messageId));
    });
    await deliverTwo(app);

    expect(told).toBe(2);
    expect(app.log.analytics).toEqual([threw('RangeError'), threw('SyntaxError')]);
  });

  it('gets the errors of its operator in `error`, which may throw as well', async () => {
    const { app, outcomes$ } = await starting();
    const broken$ = outcomes$.pipe(
      map(() => {
        throw new RangeError('in the operator');
      }),
    );
    const errors: unknown[] = [];
    broken$.subscribe({ error: (error) => errors.push(error) });
    broken$.subscribe({
      error: () => {
        throw new SyntaxError('in the handler');
      },
    });
    await deliverTwo(app);

    expect(errors).toEqual([new RangeError('in the operator')]);
    expect(app.log.analytics).toEqual([threw('SyntaxError')]);
  });

  it('has the errors of its operator logged if it has no `error` handler', async () => {
    const { app, outcomes$ } = await starting();
    outcomes$
      .pipe(
        map(() => {
          throw new RangeError('in the operator');
        }),
      )
      .subscribe();
    await deliverTwo(app);

    expect(app.log.analytics).toEqual([threw('RangeError')]);
  });

  it('does not hold back other subscribers or the application when the stream ends', async () => {
    const { app, outcomes$ } = await starting();
    const fail = (): never => {
      throw new RangeError('at the end');
    };
    outcomes$.subscribe({ complete: fail });
    outcomes$.pipe(filter(() => true)).subscribe({ complete: fail });
    outcomes$
      .pipe(
        finalize(() => {
          throw new TypeError('at the end');
        }),
      )
      .subscribe();
    outcomes$.pipe(first(() => false)).subscribe();
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- what applications do
    outcomes$.subscribe({ complete: () => Promise.reject(new SyntaxError('at the end')) });
    const { endpoints$ } = app.context.get(DeliveriesService);
    const ends = Promise.all([
      lastValueFrom(outcomes$, { defaultValue: 'ended' }),
      lastValueFrom(endpoints$, { defaultValue: 'ended' }),
    ]);
    await app.close();

    expect(await ends).toEqual(['ended', 'ended']);
    expect(app.log.analytics).toEqual(
      expect.arrayContaining(['RangeError', 'TypeError', 'EmptyError', 'SyntaxError'].map(threw)),
    );
  });

  it.each<[string, (fail: () => void) => Operators]>([
    ['first', (fail) => (shared$) => shared$.pipe(finalize(fail))],
    [
      'before another operator',
      (fail) => (shared$) =>
        shared$.pipe(
          finalize(fail),
          map((one) => one),
        ),
    ],
    [
      'after another operator',
      (fail) => (shared$) =>
        shared$.pipe(
          map((one) => one),
          finalize(fail),
        ),
    ],
  ])(
    'does not hold back subscribers that share its subscription when the stream ends: %s',
    async (_, operators) => {
      const { app, outcomes$ } = await starting();
      const uncaught: unknown[] = [];
      config.onUnhandledError = (error) => uncaught.push(error);
      const shared$ = outcomes$.pipe(share());
      operators(() => {
        throw new RangeError('at the end');
      })(shared$).subscribe();
      let hasEnded = false;
      shared$.subscribe({ complete: () => (hasEnded = true) });
      await app.close();
      // RxJS reports uncaught errors in the next timer.
      await new Promise((resolve) => setTimeout(resolve));
      config.onUnhandledError = null;

      expect({ hasEnded, uncaught }).toEqual({ hasEnded: true, uncaught: [] });
      expect(app.log.analytics).toEqual([threw('RangeError')]);
    },
  );

  it('is logged for `endpoints$` and `changes$` as well', async () => {
    const receiver = await stage.receiver({ answer: [410] });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      destinations: { encryptionKey: false },
    });
    const { endpoints$ } = app.context.get(DeliveriesService);
    const destinations = app.context.get(DestinationsService);
    const fail = (): never => {
      throw new RangeError('no room');
    };
    endpoints$.pipe(filter(() => true)).subscribe(fail);
    destinations.changes$.pipe(filter(() => true)).subscribe(fail);
    const told = lastValueFrom(endpoints$.pipe(take(1)));
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();
    await told;
    await destinations.create({ tenant: 'acme', urls: ['https://hooks.example.com/acme'] });
    await app.settled();

    const lines = app.log.analytics.filter((line) => line.includes('A subscriber of'));
    expect(lines).toEqual([
      expect.stringContaining('`endpoints$` threw RangeError at '),
      expect.stringContaining('`changes$` threw RangeError at '),
    ]);
  });
});
