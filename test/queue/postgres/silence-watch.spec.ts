import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SilenceWatch, type WatchedClient } from '../../../src/queue/postgres/silence-watch.js';

/** A client that waits for an answer, with the parts that the watch uses. */
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

  /** Stands for the statement with which the watch tests a connection that listens. */
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

/** Answers the inquiry with this number: the server could not be asked. */
async function cannotAsk(suspicion: number): Promise<void> {
  inquiries[suspicion]?.(undefined);
  await jest.advanceTimersByTimeAsync(0);
}

/** Adds another connection that was answered. */
async function addAnswered(): Promise<WaitingClient> {
  const other = new WaitingClient();
  watch.add(other as unknown as WatchedClient);
  other.answer();
  await jest.advanceTimersByTimeAsync(1_000);
  return other;
}

it('closes a connection that gave no answer for seven seconds if the server is not at work for it', async () => {
  await jest.advanceTimersByTimeAsync(7_000);
  inquiries[0]?.(false);
  await jest.advanceTimersByTimeAsync(0);
  expect(silent).toEqual([7]);
  expect(client.connection.stream.isDestroyed).toBe(true);
});

it('keeps a connection that answers while the server is asked about it', async () => {
  await jest.advanceTimersByTimeAsync(7_000);
  client.answer();
  inquiries[0]?.(false);
  await jest.advanceTimersByTimeAsync(0);
  expect(silent).toEqual([]);
  expect(client.connection.stream.isDestroyed).toBe(false);
});

it('reports each time how long a statement at work has run', async () => {
  for (const seconds of [7, 67]) {
    await jest.advanceTimersByTimeAsync(1_000 * seconds);
    inquiries.at(-1)?.(true);
    await jest.advanceTimersByTimeAsync(0);
  }
  expect([slow, silent]).toEqual([[7, 74], []]);
});

it('reports a silence only once if it began a little later for another connection', async () => {
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

it('reports a silence again if a connection has answered in between', async () => {
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

  it('is spared together with statements that begin to wait for the same lock', async () => {
    const later = await addAnswered();
    await jest.advanceTimersByTimeAsync(6_000);
    await cannotAsk(0);
    later.readyForQuery = false;
    await jest.advanceTimersByTimeAsync(7_000);
    await cannotAsk(1);
    expect([slow, silent]).toEqual([[7, 7], []]);
  });

  it('is spared for as long as other statements are answered', async () => {
    const other = await addAnswered();
    await jest.advanceTimersByTimeAsync(6_000);
    await cannotAsk(0);
    await jest.advanceTimersByTimeAsync(30_000);
    other.answer();
    await jest.advanceTimersByTimeAsync(37_000);
    await cannotAsk(1);
    expect([slow, silent]).toEqual([[7, 74], []]);
  });

  it('counts as lost if a connection that listened gives no sign of life, even while its worker has work', async () => {
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

  it('counts as lost if a pooler greets new connections, and the server answers none since some were closed', async () => {
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
