import { countOf } from '../../shared/count-of.js';
import { MORE_CONNECTIONS, NO_MORE_CONNECTIONS } from '../queue-failure.js';
import type { QueueHealth } from '../queue-health.js';

/** How long after a refusal it is told, in milliseconds: other connections may be on their way. */
const TELL_AFTER = 1_000;

/** Tells that the server gives no more connections, once for as long as there are no more of them. */
export class ConnectionShortage {
  /** The most connections that there were at once since the refusal. Some close when they are idle, and come back. */
  private most = 0;
  private isTold = false;
  private timer: NodeJS.Timeout | undefined;

  /** @param count returns how many connections there are */
  constructor(
    private readonly count: () => number,
    private readonly health: Pick<QueueHealth, 'isUp' | 'report'>,
  ) {}

  refused(): void {
    if (this.isTold || this.timer !== undefined) return;
    this.most = this.count();
    this.timer = setTimeout(this.tell, TELL_AFTER).unref();
  }

  connected(): void {
    const count = this.count();
    if (count <= this.most) return;
    this.most = count;
    this.isTold = false;
  }

  private readonly tell = (): void => {
    this.timer = undefined;
    // An outage has a line of its own.
    if (!this.health.isUp) return;
    // Where there is no room for the line, the next refusal is told.
    this.isTold = this.health.report(
      new Error(
        `it gives no more connections, ${NO_MORE_CONNECTIONS}. What is sent to it waits for one of the ` +
          `${countOf(this.most, 'connection')} that there are; for more, ${MORE_CONNECTIONS}`,
      ),
    );
  };
}
