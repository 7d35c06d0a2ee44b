import type { JobSample } from './job-sample.js';

/** Standard deviations that an estimate may be off. */
const DEVIATIONS = 4;
/** Jobs that a sample may have missed although as many were to be expected in it. */
const MISSED = 7;

/** How many messages wait for a destination, and by how many that may be wrong. */
export interface Estimate {
  messages: number;
  error: number;
}

/** Messages of one destination in the jobs that were read. */
interface Sum {
  messages: number;
  squares: number;
  /** In one job. */
  most: number;
}

/** Adds up the messages of jobs that were read, and estimates how many there are in all from which these were taken. */
export class MessageTally {
  private readonly sums = new Map<string, Sum>();
  private tried = 0;
  private read = 0;
  private hasUnknown = false;
  /** Of all destinations. */
  messages = 0;

  /** A job that is gone counts as one like the others: it was there when the jobs were counted. */
  gone(): void {
    this.tried++;
  }

  /** A job in a format that this version does not know holds any number of messages for any destination. */
  unknown(): void {
    this.hasUnknown = true;
  }

  /** @param messages of each destination in a job */
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

  /** @param jobs all that there are: those that were tried are the first ones of its sample */
  estimate(destination: string, { jobs, isExact }: Pick<JobSample, 'jobs' | 'isExact'>): Estimate {
    const { messages, squares, most } = this.sumOf(destination);
    if (this.hasUnknown) return { messages, error: Infinity };
    if (this.read === 0) return { messages: 0, error: this.tried < jobs ? Infinity : 0 };
    const scale = jobs / this.read;
    const untried = 1 - this.tried / jobs;
    const gone = 1 - this.read / this.tried;
    // Where the jobs themselves are not known exactly, not only their sizes vary.
    const variance = isExact ? squares - messages ** 2 / this.read : squares;
    const deviation = scale * Math.sqrt(Math.max(variance * untried, 0));
    const missed = untried > 0 ? MISSED * scale * Math.max(most, 1) : 0;
    return { messages: scale * messages, error: DEVIATIONS * deviation + missed + gone * jobs * most };
  }

  private sumOf(destination: string): Sum {
    return this.sums.get(destination) ?? { messages: 0, squares: 0, most: 0 };
  }
}
