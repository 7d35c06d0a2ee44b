import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { SilenceWatch, type WatchedClient } from '../../../src/queue/postgres/silence-watch.js';

/** As much of a client as the watch sees: one that waits for an answer. */
class WaitingClient {
  readyForQuery = false;
  readonly connection = {
    stream: { bytesRead: 0, isDestroyed: false, destroy: () => (this.connection.stream.isDestroyed = true) },
  };

  answer(): void {
    this.readyForQuery = true;
    this.connection.stream.bytesRead += 100;
  }

  listenerCount(): number {
    return 0;
  }
}

let silent: number[];
let inquiries: ((isAtWork: boolean) => void)[];
let watch: SilenceWatch;
let client: WaitingClient;

beforeEach(() => {
  jest.useFakeTimers();
  [silent, inquiries] = [[], []];
  watch = new SilenceWatch({
    isAtWork: () => new Promise((resolve) => inquiries.push(resolve)),
    onSlow: () => undefined,
    onSilent: (seconds) => silent.push(seconds),
  });
  client = new WaitingClient();
  watch.add(client as unknown as WatchedClient);
});
afterEach(() => {
  watch.stop();
  jest.useRealTimers();
});

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
