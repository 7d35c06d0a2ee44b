/**
 * BullMQ's messages about a job whose lock expired, or that was finished twice because the first answer was
 * lost, and the message of `SilenceWatch` about a statement that has run for long.
 */
const HELD_UP = /\block\b.* job |not in the active state|^a statement has run for /i;
/** BullMQ's message about a job that was finished twice. */
const FINISHED_TWICE = /not in the active state/i;
/** How long after an outage, or a lost answer, such reports are attributed to it, in milliseconds. */
const AFTERMATH = 60_000;

/** Knows which reports of BullMQ only follow from an outage, or from an answer that was lost with its connection. */
export class Aftermath {
  private endedAt = -Infinity;
  private lostAt = -Infinity;

  constructor(private readonly now: () => number) {}

  /** Notes that an outage has ended. */
  outageEnded(): void {
    this.endedAt = this.now();
  }

  /** Notes that the answer to a statement was lost. The statement may have been carried out, and will be repeated. */
  answerLost(): void {
    this.lostAt = this.now();
  }

  explains(message: string, isDown: boolean): boolean {
    if ((isDown || this.isRecent(this.endedAt)) && HELD_UP.test(message)) return true;
    return this.isRecent(this.lostAt) && FINISHED_TWICE.test(message);
  }

  private isRecent(time: number): boolean {
    return this.now() - time < AFTERMATH;
  }
}
