import { describe, expect, it } from '@jest/globals';
import { Backlog, type TakenMessage } from '../../src/client/backlog.js';
import { BufferedBytes } from '../../src/client/buffered-bytes.js';
import { OutstandingNumbers } from '../../src/client/outstanding-numbers.js';
import { FakeClock } from '../support/fake-clock.js';

/** Counts the searches for the lowest outstanding number. */
class CountedNumbers extends OutstandingNumbers {
  looks = 0;

  override lowestFrom(from: number, upTo: number): number {
    this.looks++;
    return super.lowestFrom(from, upTo);
  }
}

const clock = new FakeClock();

function backlogOf(count: number, numbers = new OutstandingNumbers()): [Backlog, TakenMessage[]] {
  const backlog = new Backlog(new BufferedBytes(Infinity), clock, numbers);
  const message = { body: '{}', bytes: 2, tenant: undefined, isReceived: true, call: undefined };
  return [backlog, Array.from({ length: count }, (_, n) => backlog.add({ id: `m-${n}`, ...message }, 1))];
}

describe('waits for some of the messages', () => {
  const WAITS = 4_000;

  it.each<[string, (backlog: Backlog, message: TakenMessage) => void]>([
    [
      'is queued',
      (backlog, message) => {
        backlog.remove([message]);
      },
    ],
    [
      'is dropped',
      (backlog, message) => {
        backlog.drop(message);
      },
    ],
  ])('cost a message that %s nothing if they are for other messages', async (_, leave) => {
    // prettier-ignore
    const numbers = new CountedNumbers();
    const [backlog, messages] = backlogOf(WAITS, numbers);
    const waits = messages.map(({ number }) => backlog.waitFor(number - 1, number, 1_000));
    numbers.looks = 0;
    for (const message of messages) leave(backlog, message);
    expect(numbers.looks).toBeLessThanOrEqual(2 * WAITS);
    expect(new Set(await Promise.all(waits))).toEqual(new Set([true]));
    expect(clock.pending).toBe(0);
  });

  it('end when the last of their messages leaves, in whatever order messages leave and however waits overlap', async () => {
    const [backlog, messages] = backlogOf(4);
    const ended: string[] = [];
    for (const [after, upTo] of [
      [0, 3],
      [0, 2],
      [1, 4],
    ] as const)
      // prettier-ignore
      void backlog.waitFor(after, upTo, 1_000).then(() => ended.push(`${after + 1} to ${upTo}`));
    const [first, second, others] = [messages.slice(0, 1), messages.slice(1, 2), messages.slice(2)];
    const endedAfter = async (left: TakenMessage[]): Promise<string[]> => {
      backlog.remove(left);
      await clock.pass(0);
      return ended.splice(0).sort();
    };
    expect(await endedAfter(second)).toEqual([]);
    expect(await endedAfter(first)).toEqual(['1 to 2']);
    expect(await endedAfter(others)).toEqual(['1 to 3', '2 to 4']);
  });

  it('end without their messages if their time is over, or if all waits are released', async () => {
    const [backlog, messages] = backlogOf(2);
    const late = backlog.waitFor(0, 1, 1_000);
    const same = backlog.waitFor(0, 1, 2_000);
    await clock.pass(1_000);
    expect(await late).toBe(false);
    backlog.remove(messages.slice(0, 1));
    expect(await same).toBe(true);
    const last = backlog.waitFor(1, 2, 1_000);
    backlog.release();
    expect(await last).toBe(false);
    expect(clock.pending).toBe(0);
  });
});
