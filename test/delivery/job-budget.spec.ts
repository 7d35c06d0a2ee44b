import { describe, expect, it } from '@jest/globals';
import { JobBudget, type JobPlace } from '../../src/delivery/job-budget.js';

/** Room for any number of jobs, and for eight jobs of the largest size, in characters. */
const LARGE = Infinity;
const SMALL = 8 * 2 ** 19;

interface TestWorker {
  concurrency: number;
}

/** Searches of a worker for a job, which the test ends. */
class Looks {
  /** Requests to the queue that are not answered yet. */
  readonly asked: (() => void)[] = [];

  constructor(
    private readonly budget: JobBudget,
    private readonly worker: TestWorker,
  ) {}

  add(count: number): void {
    for (let n = 0; n < count; n++) {
      void this.budget.look(this.worker, () => new Promise<void>((resolve) => this.asked.push(resolve)));
    }
  }

  async end(count: number): Promise<void> {
    for (const end of this.asked.splice(0, count)) end();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('the jobs of a process', () => {
  const workersOf = (budget: JobBudget, count: number): TestWorker[] => {
    const workers = Array.from({ length: count }, () => ({ concurrency: 0 }));
    for (const worker of workers) budget.join(worker);
    return workers;
  };

  it('are divided among its workers: each worker has a reserved part, and any worker may have the rest', () => {
    const budget = new JobBudget(64, LARGE);
    const [busy = { concurrency: 0 }, idle] = workersOf(budget, 2);
    expect([busy.concurrency, idle?.concurrency]).toEqual([56, 56]);
    const places: JobPlace[] = Array.from({ length: 56 }, () => budget.take(busy));
    expect([busy.concurrency, idle?.concurrency]).toEqual([56, 8]);
    for (const place of places) place.leave();
    expect([busy.concurrency, idle?.concurrency]).toEqual([56, 56]);
  });

  it('are looked for sixteen at a time, in order', async () => {
    const budget = new JobBudget(512, LARGE);
    const [worker = { concurrency: 0 }] = workersOf(budget, 1);
    const looks = new Looks(budget, worker);
    looks.add(100);
    expect(looks.asked).toHaveLength(16);
    await looks.end(10);
    expect(looks.asked).toHaveLength(16);
  });

  it('are not looked for while sixteen or more are being put back', async () => {
    const budget = new JobBudget(512, LARGE);
    const [worker = { concurrency: 0 }] = workersOf(budget, 1);
    const looks = new Looks(budget, worker);
    const places = Array.from({ length: 20 }, () => budget.take(worker));
    for (const place of places) place.putBack();
    looks.add(2);
    expect(looks.asked).toHaveLength(0);
    for (const place of places.splice(0, 5)) place.leave();
    await looks.end(0);
    expect(looks.asked).toHaveLength(1);
    for (const place of places) place.leave();
    await looks.end(0);
    expect(looks.asked).toHaveLength(2);
  });

  it('are not read while some wait to begin, or while sixteen or more are being put back', async () => {
    const budget = new JobBudget(512, LARGE);
    const [worker = { concurrency: 0 }] = workersOf(budget, 1);
    const jobs = Array.from({ length: 20 }, (_, n) => ({ n }));
    await budget.look(worker, () => Promise.resolve(jobs[0]));
    expect(worker.concurrency).toBe(512);
    await budget.look(worker, () => Promise.resolve(jobs[1]));
    await budget.look(worker, () => Promise.resolve(undefined));
    // BullMQ takes no more than its concurrency, and has two jobs already.
    expect(worker.concurrency).toBe(1);
    // BullMQ may fail a job without beginning it.
    budget.ended(worker, jobs[1]);
    expect(worker.concurrency).toBe(512);
    const places = jobs.map((job) => budget.take(worker, job));
    for (const place of places.slice(0, 16)) place.putBack();
    expect(worker.concurrency).toBe(1);
    for (const place of places) place.leave();
    expect(worker.concurrency).toBe(512);
  });

  it('are looked for while others are delivered, and in one partition independently of another', () => {
    const budget = new JobBudget(512, LARGE);
    const [busy = { concurrency: 0 }, idle = { concurrency: 0 }] = workersOf(budget, 2);
    for (let n = 0; n < 100; n++) budget.take(busy);
    const [ofBusy, ofIdle] = [new Looks(budget, busy), new Looks(budget, idle)];
    ofBusy.add(20);
    ofIdle.add(1);
    expect([ofBusy.asked.length, ofIdle.asked.length]).toEqual([16, 1]);
  });

  it('are not looked for while waiting jobs could fill the room for the largest jobs', async () => {
    const budget = new JobBudget(512, SMALL);
    const [worker = { concurrency: 0 }] = workersOf(budget, 1);
    const looks = new Looks(budget, worker);
    const places = Array.from({ length: 10 }, () => budget.take(worker));
    looks.add(2);
    expect(looks.asked).toHaveLength(0);
    for (const place of places.slice(0, 3)) place.begin();
    await looks.end(0);
    expect(looks.asked).toHaveLength(1);
    for (const place of places) place.leave();
    await looks.end(0);
    expect(looks.asked).toHaveLength(2);
  });

  it('are taken when others end, as far as there is room for the largest jobs', async () => {
    const budget = new JobBudget(512, SMALL);
    const [worker = { concurrency: 0 }] = workersOf(budget, 1);
    const jobs = Array.from({ length: 20 }, (_, n) => ({ n }));
    const wanted: boolean[] = [];
    const come = jobs.map((job) =>
      budget.end(worker, true, (fetchNext) => {
        wanted.push(fetchNext);
        return Promise.resolve(fetchNext ? job : undefined);
      }),
    );
    await Promise.all(come);
    expect(wanted.filter(Boolean)).toHaveLength(8);
    const isWantedNow = async (): Promise<boolean> => {
      let isWanted = false;
      await budget.end(worker, true, (fetchNext) => {
        isWanted = fetchNext;
        return Promise.resolve(undefined);
      });
      return isWanted;
    };
    const place = budget.take(worker, jobs[0]);
    expect(await isWantedNow()).toBe(false);
    place.begin();
    expect(await isWantedNow()).toBe(true);
    await budget.end(worker, true, () => Promise.resolve(jobs[8]));
    expect(await isWantedNow()).toBe(false);
    // BullMQ may fail a job without beginning it.
    budget.ended(worker, jobs[1]);
    expect(await isWantedNow()).toBe(true);
  });
});
