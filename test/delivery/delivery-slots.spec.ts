import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type DeliverySlot, DeliverySlots } from '../../src/delivery/delivery-slots.js';

/** Longer than a destination may settle nothing before it counts as hanging. */
const LONG = 300;

async function taken(slots: DeliverySlots, destination: string): Promise<DeliverySlot> {
  const slot = await slots.enter(destination);
  if (slot === undefined) throw new Error(`${destination} was put off`);
  return slot;
}

/** What an `enter` has come to by now. */
async function stateOf(entering: Promise<DeliverySlot | undefined>): Promise<'in' | 'put off' | 'waits'> {
  const slot = await Promise.race([entering, Promise.resolve('waits' as const)]);
  if (slot === 'waits') return slot;
  return slot === undefined ? 'put off' : 'in';
}

describe('the slots of a process', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('are as many as the limit; the next batch waits until one is free', async () => {
    const slots = new DeliverySlots(2);
    const first = await taken(slots, 'a');
    await taken(slots, 'b');
    const third = slots.enter('c');
    expect(await stateOf(third)).toBe('waits');
    first.release();
    expect(await stateOf(third)).toBe('in');
  });

  it('are given in the order in which they were asked for', async () => {
    const slots = new DeliverySlots(1);
    const first = await taken(slots, 'a');
    const [second, third] = [slots.enter('b'), slots.enter('c')];
    first.release();
    expect([await stateOf(second), await stateOf(third)]).toEqual(['in', 'waits']);
  });

  it('are no more than four for a destination that has settled nothing yet, so that the others find some', async () => {
    const slots = new DeliverySlots(16);
    const first = await taken(slots, 'new');
    for (let n = 1; n < 4; n++) await taken(slots, 'new');
    const fifth = slots.enter('new');
    expect(await stateOf(fifth)).toBe('waits');
    expect(await stateOf(slots.enter('other'))).toBe('in');
    first.progress();
    expect(await stateOf(fifth)).toBe('in');
    expect(await stateOf(slots.enter('new'))).toBe('in');
  });

  it('are freed by a destination that hangs, for the others', async () => {
    const slots = new DeliverySlots(2);
    await taken(slots, 'hangs');
    await taken(slots, 'hangs');
    const other = slots.enter('lives');
    expect(await stateOf(other)).toBe('waits');
    jest.advanceTimersByTime(LONG);
    expect(await stateOf(other)).toBe('in');
  });

  it('let a destination that hangs have four batches in flight, and put the next one off', async () => {
    const slots = new DeliverySlots(2);
    const first = await taken(slots, 'hangs');
    jest.advanceTimersByTime(LONG);
    for (let n = 1; n < 4; n++) await taken(slots, 'hangs');
    expect(await stateOf(slots.enter('hangs'))).toBe('put off');
    expect(await stateOf(slots.enter('lives'))).toBe('in');
    first.release();
    expect(await stateOf(slots.enter('hangs'))).toBe('in');
  });

  it('put off what waits for a slot once its destination is found to hang and to have enough', async () => {
    const slots = new DeliverySlots(4);
    for (let n = 0; n < 4; n++) await taken(slots, 'hangs');
    const waiting = slots.enter('hangs');
    expect(await stateOf(waiting)).toBe('waits');
    jest.advanceTimersByTime(LONG);
    expect(await stateOf(waiting)).toBe('put off');
  });

  it('do not take a destination for hanging that goes on settling messages', async () => {
    const slots = new DeliverySlots(1);
    const slot = await taken(slots, 'slow');
    const other = slots.enter('other');
    for (let n = 0; n < 10; n++) {
      jest.advanceTimersByTime(200);
      slot.progress();
    }
    expect(await stateOf(other)).toBe('waits');
  });

  it('are counted again for a destination that settles something after it hung', async () => {
    const slots = new DeliverySlots(2);
    const slot = await taken(slots, 'back');
    await taken(slots, 'back');
    jest.advanceTimersByTime(LONG);
    slot.progress();
    const other = slots.enter('other');
    expect(await stateOf(other)).toBe('waits');
    slot.release();
    expect(await stateOf(other)).toBe('in');
  });

  it('forget a destination that has nothing in flight: it hangs no more', async () => {
    const slots = new DeliverySlots(1);
    const slot = await taken(slots, 'hangs');
    jest.advanceTimersByTime(LONG);
    slot.release();
    await taken(slots, 'hangs');
    expect(await stateOf(slots.enter('other'))).toBe('waits');
    expect(jest.getTimerCount()).toBe(1);
  });
});
