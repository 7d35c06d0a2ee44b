import type { LiveEvent } from '../../live/live-event.js';
import { type Api, ApiError } from './api.js';

/** After a stream has ended or failed, in milliseconds; twice as long after each failure that follows. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8_000;

/** Nobody may watch any more, so asking again changes nothing. */
const FINAL: readonly string[] = ['UNAUTHORIZED', 'LINK_ENDED', 'CONSOLE_HEADER_MISSING'];

/** Whether calls arrive: `away` is tried again, `ended` is not. */
export type LiveState = 'connecting' | 'watching' | 'away' | 'ended';

export interface LiveObserver {
  onCall(call: LiveEvent): void;
  /** Calls were made that were too many to be sent. */
  onMissed(count: number): void;
  onState(state: LiveState, error?: Error): void;
}

/** Receives calls as they are made, and goes on where it was when the connection was lost. */
export class LiveClient {
  /** Of the latest event. */
  private id: string | undefined;
  private pause = FIRST_PAUSE;

  constructor(
    private readonly api: Pick<Api, 'live'>,
    private readonly observer: LiveObserver,
  ) {}

  /** Resolves when the signal is aborted, or nothing can be received any more. */
  async run(signal: AbortSignal): Promise<void> {
    const isOver = (): boolean => signal.aborted;
    this.observer.onState('connecting');
    while (!isOver()) {
      try {
        await this.receive(signal);
      } catch (error) {
        if (isOver()) return;
        const problem = error instanceof ApiError ? error : new ApiError('LOST', 'The connection was lost.');
        const isFinal = FINAL.includes(problem.code);
        this.observer.onState(isFinal ? 'ended' : 'away', problem);
        if (isFinal) return;
        this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
      }
      await new Promise((resolve) => setTimeout(resolve, this.pause));
    }
  }

  /** Resolves at the end of the stream, which is no failure. */
  private async receive(signal: AbortSignal): Promise<void> {
    const reader = (await this.api.live(this.id, signal)).getReader();
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (text + decoder.decode(value, { stream: true })).split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) this.take(part);
    }
  }

  /** Takes a server-sent event. */
  private take(part: string): void {
    const fields = new Map(
      part.split('\n').map((line): [string, string] => {
        const colon = line.indexOf(': ');
        return [line.slice(0, colon), line.slice(colon + 2)];
      }),
    );
    const data: unknown = JSON.parse(fields.get('data') ?? '{}');
    this.id = fields.get('id') ?? this.id;
    switch (fields.get('event')) {
      case 'ready':
        this.pause = FIRST_PAUSE;
        this.observer.onState('watching');
        break;
      case 'call':
        this.observer.onCall(data as LiveEvent);
        break;
      case 'missed':
        this.observer.onMissed((data as { count: number }).count);
        break;
      case 'away':
        throw new ApiError('QUEUE_UNAVAILABLE', 'The database of the queue does not answer.');
    }
  }
}
