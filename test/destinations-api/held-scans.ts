import { EventEmitter, once } from 'node:events';
import type { FailedMessages } from '../../src/deliveries/failed-messages.js';
import type { KeptSelection } from '../../src/deliveries/replay.js';

type IsMeant = (id: string) => boolean;

/** Scans of all failed messages, for those that were kept for destinations. They go on until a test ends them. */
export class HeldScans {
  /** Most scans that were in progress at once. */
  most = 0;
  private running = 0;
  private readonly all: IsMeant[] = [];
  private readonly events = new EventEmitter();
  private readonly first = once(this.events, 'began');
  private readonly ended = once(this.events, 'ended');

  constructor(failed: FailedMessages) {
    Object.assign(failed, {
      replay: ({ destination }: { destination?: string }) => this.hold((id) => id === destination),
      replayKept: async (selection: KeptSelection) => {
        await this.hold((id) => selection.mayTake(id));
        return new Map();
      },
    });
  }

  /** Resolves when a scan has begun. */
  async began(): Promise<void> {
    await this.first;
  }

  /** Ends the scans in progress, and those that begin from now on. */
  end(): void {
    this.events.emit('ended');
  }

  /** Returns those of the destinations for which there was a scan. */
  meant(ids: readonly string[]): string[] {
    return ids.filter((id) => this.all.some((isMeant) => isMeant(id)));
  }

  private async hold(isMeant: IsMeant): Promise<number> {
    this.all.push(isMeant);
    this.most = Math.max(this.most, ++this.running);
    this.events.emit('began');
    await this.ended;
    this.running--;
    return 0;
  }
}
