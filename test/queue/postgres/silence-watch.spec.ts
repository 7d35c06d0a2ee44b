import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SilenceWatch, type WatchedClient } from '../../../src/queue/postgres/silence-watch.js';

/** As much of a client as the watch sees: one that waits for an answer. */
class WaitingClient {
  readyForQuery = false;
  isListening = false;
  readonly connection = {
    stream: { bytesRead: 0, isDestroyed: false, destroy: () => (this.connection.stream.isDestroyed = true) },
  };

  answer(): void {
    this.readyForQuery = true;
    this.connection.stream.bytesRead += 100;
  }

  /** What the watch asks a connection for that listens. */
  query(): Promise<void> {
    this.readyForQuery = false;
    return Promise.resolve();
  }

  listenerCount(): number {
    return this.isListening ? 1 : 0;
  }
}

let silent: number[];
let slow: number[];
let inquiries: ((isAtWork: boolean | undefined) => void)[];
let watch: SilenceWatch;
let client: WaitingClient;

beforeEach(() => {
  jest.useFakeTimers();
  [silent, slow, inquiries] = [[], [], []];
  watch = new SilenceWatch({
    isAtWork: () => new Promise((resolve) => inquiries.push(resolve)),
    onSlow: (seconds) => slow.push(seconds),
    onSilent: (seconds) => silent.push(seconds),
  });
  client = new WaitingClient();
  watch.add(client as unknown as WatchedClient);
});
afterEach(() => {
  watch.stop();
  jest.useRealTimers();
});

/** The server was not to be asked about the suspicion of this number. */
async function cannotAsk(suspicion: number): Promise<void> {
  inquiries[suspicion]?.(undefined);
  await jest.advanceTimersByTimeAsync(0);
}

/** Has another connection that was answered. */
async function addAnswered(): Promise<WaitingClient> {
  const other = new WaitingClient();
  watch.add(other as unknown as WatchedClient);
  other.answer();
  await jest.advanceTimersByTimeAsync(1_000);
  return other;
}

it('closes a connection that gave no answer for seven seconds, and whose server knows nothing of it', async () => {
  await jest.advanceTimersByTimeAsync(7_000);
  inquiries[0]?.(false);
  await jest.advanceTimersByTimeAsync(0);
  expect(silent).toEqual([7]);
  expect(client.connection.stream.isDestroyed).toBe(true);
});

it('lets a connection be that answered while the server was asked about it', async () => {
  await jest.advanceTimersByTimeAsync(7_000);
  client.answer();
  inquiries[0]?.(false);
  await jest.advanceTimersByTimeAsync(0);
  expect(silent).toEqual([]);
  expect(client.connection.stream.isDestroyed).toBe(false);
});

it('tells of a statement that is at work for how long it has run, each time', async () => {
  for (const seconds of [7, 67]) {
    await jest.advanceTimersByTimeAsync(1_000 * seconds);
    inquiries.at(-1)?.(true);
    await jest.advanceTimersByTimeAsync(0);
  }
  expect([slow, silent]).toEqual([[7, 74], []]);
});

it('tells once of a silence that began a little later for another connection', async () => {
  await jest.advanceTimersByTimeAsync(5_000);
  const later = new WaitingClient();
  watch.add(later as unknown as WatchedClient);
  await jest.advanceTimersByTimeAsync(2_000);
  inquiries[0]?.(false);
  await jest.advanceTimersByTimeAsync(0);
  watch.remove(client as unknown as WatchedClient);
  expect(later.connection.stream.isDestroyed).toBe(false);
  const idle = new WaitingClient();
  idle.answer();
  watch.add(idle as unknown as WatchedClient);
  await jest.advanceTimersByTimeAsync(5_000);
  inquiries[1]?.(false);
  await jest.advanceTimersByTimeAsync(0);
  expect(silent).toEqual([7]);
  expect(later.connection.stream.isDestroyed).toBe(true);
  expect(idle.connection.stream.isDestroyed).toBe(false);
});

it('tells again of a connection that has answered since', async () => {
  const other = new WaitingClient();
  await jest.advanceTimersByTimeAsync(6_000);
  watch.add(other as unknown as WatchedClient);
  await jest.advanceTimersByTimeAsync(1_000);
  inquiries[0]?.(false);
  await jest.advanceTimersByTimeAsync(0);
  watch.remove(client as unknown as WatchedClient);
  other.answer();
  await jest.advanceTimersByTimeAsync(1_000);
  other.readyForQuery = false;
  await jest.advanceTimersByTimeAsync(7_000);
  inquiries[1]?.(false);
  await jest.advanceTimersByTimeAsync(0);
  expect(silent).toEqual([7, 7]);
});

describe('a statement that the server cannot be asked about', () => {
  it('is spared for a minute', async () => {
    await addAnswered();
    await jest.advanceTimersByTimeAsync(6_000);
    await cannotAsk(0);
    expect([slow, silent]).toEqual([[7], []]);
    await jest.advanceTimersByTimeAsync(67_000);
    await cannotAsk(1);
    expect([slow, silent]).toEqual([[7], [7]]);
    expect(client.connection.stream.isDestroyed).toBe(true);
  });

  it('is spared together with those that come to wait for the same lock', async () => {
    const later = await addAnswered();
    await jest.advanceTimersByTimeAsync(6_000);
    await cannotAsk(0);
    later.readyForQuery = false;
    await jest.advanceTimersByTimeAsync(7_000);
    await cannotAsk(1);
    expect([slow, silent]).toEqual([[7, 7], []]);
  });

  it('is spared for as long as others are answered', async () => {
    const other = await addAnswered();
    await jest.advanceTimersByTimeAsync(6_000);
    await cannotAsk(0);
    await jest.advanceTimersByTimeAsync(30_000);
    other.answer();
    await jest.advanceTimersByTimeAsync(37_000);
    await cannotAsk(1);
    expect([slow, silent]).toEqual([[7, 74], []]);
  });

  it('is lost where a connection that listened gives no sign of life, also while its worker has work', async () => {
    const listener = new WaitingClient();
    watch.add(listener as unknown as WatchedClient);
    listener.answer();
    listener.isListening = true;
    await jest.advanceTimersByTimeAsync(1_000);
    listener.isListening = false;
    await jest.advanceTimersByTimeAsync(6_000);
    await cannotAsk(0);
    expect([slow, silent]).toEqual([[], [7]]);
    expect(listener.connection.stream.isDestroyed).toBe(true);
  });

  it('is lost where a pooler greets new connections, and the server answers none since some were closed', async () => {
    await addAnswered();
    await jest.advanceTimersByTimeAsync(6_000);
    inquiries[0]?.(false);
    await jest.advanceTimersByTimeAsync(0);
    watch.remove(client as unknown as WatchedClient);
    const greeted = new WaitingClient();
    greeted.connection.stream.bytesRead = 400;
    watch.add(greeted as unknown as WatchedClient);
    await jest.advanceTimersByTimeAsync(7_000);
    await cannotAsk(1);
    expect(slow).toEqual([]);
    expect(greeted.connection.stream.isDestroyed).toBe(true);
  });
});
