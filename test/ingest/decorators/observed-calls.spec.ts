import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Param, Post } from '@nestjs/common';
import {
  BehaviorSubject,
  concat,
  firstValueFrom,
  isObservable,
  lastValueFrom,
  map,
  NEVER,
  type Observable,
  of,
  Subject,
  throwError,
} from 'rxjs';
import { Track } from '../../../src/index.js';
import { until } from '../../support/until.js';
import { type DecoratedApp, DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

const resultOf = ({ result }: { result: unknown }): object => ({ result });

@Injectable()
class Streams {
  readonly failing = new Error('no paper');
  readonly numbers = of(1, 2, 3);
  readonly senders: string[] = [];
  readonly subject = new Subject<number>();
  readonly state = new BehaviorSubject(0);
  readonly frozen = Object.freeze(of(1));
  readonly broken = concat(
    of(1),
    throwError(() => this.failing),
  );

  @Track('Streamed', { userId: 'u1', properties: resultOf })
  streams(): Observable<number> {
    return this.numbers;
  }

  @Track('Stream failed', { userId: 'u1', on: 'failure' })
  failsToStream(): Observable<number> {
    return this.broken;
  }

  @Track('Streamed later', { userId: 'u1', properties: ({ result }) => ({ isStream: isObservable(result) }) })
  async streamsLater(): Promise<Observable<number>> {
    return Promise.resolve(this.numbers);
  }

  @Track('Failed later', {
    userId: 'u1',
    on: 'settled',
    properties: ({ error }) => ({ failed: error !== undefined }),
  })
  async failsLater(): Promise<Observable<number>> {
    return Promise.resolve(this.broken);
  }

  @Track('Watched', { userId: 'u1', properties: resultOf })
  watches(): Observable<number> {
    return concat(this.subject, NEVER);
  }

  @Track('Sent', { userId: ({ args: [userId] }) => userId, properties: resultOf })
  sends(userId: string): Subject<number> {
    this.senders.push(userId);
    return this.subject;
  }

  @Track('Sent on', { userId: 'u1' })
  sendsOn(): Subject<number> {
    return this.sends('u1');
  }

  @Track('Changed', { userId: 'u1', properties: resultOf })
  changes(): BehaviorSubject<number> {
    return this.state;
  }

  @Track('Frozen', { userId: 'u1' })
  freezes(): Observable<number> {
    return this.frozen;
  }
}

@Controller('streams')
class StreamsController {
  constructor(private readonly streams: Streams) {}

  @Get('stranger')
  @Track('Stranger', { userId: 'stranger' })
  stranger(): Observable<number> {
    return this.streams.subject.pipe(map((value) => value * 2));
  }

  @Get(':user')
  @Track('Opened', { userId: ({ args: [user] }) => user })
  open(@Param('user') user: string): Observable<number> {
    return this.streams.sends(user).pipe(map((value) => value + 1));
  }

  @Post()
  @Track('Received', { userId: 'u1' })
  async receive(): Promise<Observable<number>> {
    return Promise.resolve(this.streams.broken);
  }
}

async function start(): Promise<{ streams: Streams; app: DecoratedApp; events: () => unknown[] }> {
  const app = await apps.start({ providers: [Streams], controllers: [StreamsController] });
  const events = (): unknown[] =>
    app.messages.map((message) =>
      message.type === 'track' ? [message.event, ...Object.values(message.properties)] : message.type,
    );
  return { streams: app.get(Streams), app, events };
}

/** Returns the number of observers, for which RxJS has only a deprecated list. */
function observersOf(subject: Subject<number>): number {
  return (Reflect.get(subject, 'observers') as unknown[]).length;
}

describe('a decorated method that returns an Observable', () => {
  it('returns its own Observable, whatever kind of Observable it is', async () => {
    const { streams } = await start();
    expect(streams.streams()).toBe(streams.numbers);
    expect(streams.sends('u1')).toBe(streams.subject);
    expect(streams.changes()).toBe(streams.state);
    expect(streams.freezes()).toBe(streams.frozen);
    expect(streams.changes().value).toBe(0);
    expect(streams.subject.observed).toBe(false);
    expect(Object.keys(streams.numbers)).toEqual(Object.keys(of(1)));
  });

  it('is recorded with the last value when the Observable completes, once for each subscription', async () => {
    const { streams, events } = await start();
    const stream = streams.streams();
    expect(events()).toEqual([]);
    await expect(lastValueFrom(stream)).resolves.toBe(3);
    expect(events()).toEqual([['Streamed', 3]]);
    await expect(lastValueFrom(stream.pipe(map((value) => value * 2)))).resolves.toBe(6);
    expect(events()).toEqual([
      ['Streamed', 3],
      ['Streamed', 3],
    ]);
  });

  it('passes on the error of the Observable, and is recorded as failed', async () => {
    const { streams, events } = await start();
    await expect(lastValueFrom(streams.failsToStream())).rejects.toBe(streams.failing);
    expect(events()).toEqual([['Stream failed']]);
  });

  it('is recorded when the Observable ends, even if a promise resolves to it', async () => {
    const { streams, events } = await start();
    const stream = await streams.streamsLater();
    expect(stream).toBe(streams.numbers);
    expect(events()).toEqual([]);
    await expect(lastValueFrom(stream)).resolves.toBe(3);
    const failing = await streams.failsLater();
    await expect(lastValueFrom(failing)).rejects.toBe(streams.failing);
    expect(events()).toEqual([
      ['Streamed later', true],
      ['Failed later', true],
    ]);
  });

  it('is not recorded if the request fails after the promise of its Observable has resolved', async () => {
    const { app, events } = await start();
    expect(await app.request('/streams', { method: 'POST' })).toMatchObject({ status: 500 });
    expect(events()).toEqual([]);
  });

  it('is not recorded if a subscriber unsubscribes early', async () => {
    const { streams, events } = await start();
    const values: number[] = [];
    const subscription = streams.watches().subscribe((value) => values.push(value));
    streams.subject.next(7);
    subscription.unsubscribe();
    await firstValueFrom(streams.streams());
    expect(values).toEqual([7]);
    expect(streams.subject.observed).toBe(false);
    expect(events()).toEqual([]);
  });

  it('is recorded when its Subject completes, which works as before', async () => {
    const { streams, events } = await start();
    const values: number[] = [];
    streams.changes().subscribe({ next: (value) => values.push(value) });
    streams.state.next(1);
    streams.state.complete();
    expect(values).toEqual([0, 1]);
    expect(events()).toEqual([['Changed', 1]]);
  });

  it('is recorded once for each decorated method that has handed the Observable on', async () => {
    const { streams, events } = await start();
    expect(streams.sendsOn()).toBe(streams.subject);
    const last = lastValueFrom(streams.sendsOn());
    streams.subject.next(5);
    streams.subject.complete();
    await expect(last).resolves.toBe(5);
    expect(events()).toEqual([['Sent', 5], ['Sent on']]);
  });

  it('is recorded at once if its Observable is frozen, as that cannot be watched', async () => {
    const { streams, events } = await start();
    streams.freezes();
    expect(events()).toEqual([['Frozen']]);
  });

  it('is recorded for the request that has subscribed, even if several requests share one Subject', async () => {
    const { streams, app } = await start();
    const users = ['u1', 'u2', 'u3', 'stranger'];
    const responses = users.map((user) => app.request(`/streams/${user}`));
    await until(() => (observersOf(streams.subject) === users.length ? true : undefined));
    streams.subject.next(7);
    streams.subject.complete();
    const bodies = (await Promise.all(responses)).map(({ body }) => body);
    expect(bodies).toEqual(['8', '8', '8', '14']);
    const people = (event: string): unknown[] =>
      app.messages.flatMap((one) => (one.type === 'track' && one.event === event ? [one.userId] : [])).sort();
    expect(people('Sent')).toEqual(['u1', 'u2', 'u3']);
    expect(people('Opened')).toEqual(['u1', 'u2', 'u3']);
    expect(people('Stranger')).toEqual(['stranger']);
  });
});
