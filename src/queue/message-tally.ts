import type { JobSample } from './job-sample.js';

/** Standard deviations that an estimate may be off. */
const DEVIATIONS = 4;
/** Number of jobs that a sample may have missed although it was expected to contain so many. */
const MISSED = 7;

/** How many messages wait for a destination, and by how many this number may be wrong. */
export interface Estimate {
  messages: number;
  error: number;
}

/** Messages of one destination in the jobs that were read. */
interface Sum {
  messages: number;
  squares: number;
  /** Largest number of messages in one job. */
  most: number;
}

/** Adds up the messages of the jobs that were read, and estimates how many there are in all jobs. */
export class MessageTally {
  private readonly sums = new Map<string, Sum>();
  private tried = 0;
  private read = 0;
  private hasUnknown = false;
  /** Messages of all destinations in the jobs that were read. */
  messages = 0;

  /** Counts a job that is gone as one like the others, since it was there when the jobs were counted. */
  gone(): void {
    this.tried++;
  }

  /** Notes a job in an unknown format, which may hold any number of messages for any destination. */
  unknown(): void {
    this.hasUnknown = true;
  }

  /** @param messages number of messages in a job, by destination */
  add(messages: ReadonlyMap<string, number>): void {
    this.tried++;
    this.read++;
    for (const [destination, count] of messages) {
      const { messages: before, squares, most } = this.sumOf(destination);
      this.messages += count;
      this.sums.set(destination, {
        messages: before + count,
        squares: squares + count ** 2,
        most: Math.max(most, count),
      });
    }
  }

  /** @param jobs number of all jobs; those that were tried are the first of their sample */
  estimate(destination: string, { jobs, isExact }: Pick<JobSample, 'jobs' | 'isExact'>): Estimate {
    const { messages, squares, most } = this.sumOf(destination);
    if (this.hasUnknown) return { messages, error: Infinity };
    if (this.read === 0) return { messages: 0, error: this.tried < jobs ? Infinity : 0 };
    const scale = jobs / this.read;
    const untried = 1 - this.tried / jobs;
    const gone = 1 - this.read / this.tried;
    // If the number of jobs is an estimate, it varies as well as their sizes.
    const variance = isExact ? squares - messages ** 2 / this.read : squares;
    const deviation = scale * Math.sqrt(Math.max(variance * untried, 0));
    const missed = untried > 0 ? MISSED * scale * Math.max(most, 1) : 0;
    return { messages: scale * messages, error: DEVIATIONS * deviation + missed + gone * jobs * most };
  }

  private sumOf(destination: string): Sum {
    return this.sums.get(destination) ?? { messages: 0, squares: 0, most: 0 };
  }
}
