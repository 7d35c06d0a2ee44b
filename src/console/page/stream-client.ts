import { ApiError } from './api-requests.js';

/** Pause after a stream has ended, in milliseconds. Doubles after each stream that fails or does not last. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8_000;
/** Milliseconds for which a stream has to stay open to count as lasting. */
const LASTING = 5_000;
/**
 * Longest silence of a connection, in milliseconds. After that, the connection is dead, even if the browser does not
 * know: the application sends something every few seconds, and waits for its database no longer than this.
 */
const LONGEST_SILENCE = 15_000;

/** Error codes after which a retry changes nothing: the page may not watch, or nothing is left to watch. */
const FINAL: readonly string[] = [
  'UNAUTHORIZED',
  'LINK_ENDED',
  'CONSOLE_HEADER_MISSING',
  'CROSS_ORIGIN',
  'DESTINATION_NOT_FOUND',
];

/** Whether events arrive. After `away`, the connection is tried again; after `ended`, it is not. */
export type StreamState = 'connecting' | 'watching' | 'away' | 'ended';

/** A connection, and what is wrong with it. */
export interface Connection {
  state: StreamState;
  error?: Error | undefined;
}

export interface StreamObserver {
  /** Called with each server-sent event. The first event of each connection is `ready`. */
  onEvent(name: string, data: unknown): void;
  onConnection(connection: Connection): void;
}

/**
 * Opens a stream of server-sent events.
 *
 * @param id id of the latest event that was received
 */
export type OpenStream = (id: string | undefined, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;

/** Breaks off a connection that is silent for too long. */
class SilenceWatch {
  private readonly abort = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.restart();
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  /** Starts the time again. Called when something has arrived. */
  restart(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.abort.abort();
    }, LONGEST_SILENCE);
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

/** Receives server-sent events, and continues after the latest event when a connection was lost. */
export class StreamClient {
  /** Id of the latest event. */
  private id: string | undefined;
  private pause = FIRST_PAUSE;

  constructor(
    private readonly open: OpenStream,
    private readonly observer: StreamObserver,
  ) {}

  /** Receives until the signal is aborted or a retry would change nothing. */
  async run(signal: AbortSignal): Promise<void> {
    const isOver = (): boolean => signal.aborted;
    this.observer.onConnection({ state: 'connecting' });
    while (!isOver()) {
      const opened = performance.now();
      let hasFailed = false;
      try {
        await this.receive(signal);
      } catch (thrown) {
        if (isOver()) return;
        const error = thrown instanceof ApiError ? thrown : new ApiError('LOST', 'The connection was lost.');
        const isFinal = FINAL.includes(error.code);
        this.observer.onConnection({ state: isFinal ? 'ended' : 'away', error });
        if (isFinal) return;
        hasFailed = true;
      }
      const hasLasted = performance.now() - opened >= LASTING;
      if (hasLasted) this.pause = FIRST_PAUSE;
      // A stream that begins well and ends at once, over and over, needs longer pauses as well.
      if (hasFailed || !hasLasted) this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
      await new Promise((resolve) => setTimeout(resolve, this.pause));
    }
  }

  /** Resolves at the end of a stream that has begun, which is no failure. */
  private async receive(signal: AbortSignal): Promise<void> {
    const silence = new SilenceWatch();
    try {
      await this.readAll(AbortSignal.any([signal, silence.signal]), silence);
    } finally {
      silence.end();
    }
  }

  private async readAll(signal: AbortSignal, silence: SilenceWatch): Promise<void> {
    const reader = (await this.open(this.id, signal)).getReader();
    const decoder = new TextDecoder();
    let isReady = false;
    let text = '';
    for (;;) {
      silence.restart();
      const { done, value } = await reader.read();
      if (done && !isReady) throw cutOff();
      if (done) return;
      const parts = (text + decoder.decode(value, { stream: true })).split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) isReady = this.take(part) === 'ready' || isReady;
    }
  }

  /** Takes a server-sent event, and returns its name. */
  private take(part: string): string | undefined {
    const fields = new Map(
      part.split('\n').map((line): [string, string] => {
        const colon = line.indexOf(': ');
        return [line.slice(0, colon), line.slice(colon + 2)];
      }),
    );
    const name = fields.get('event');
    // A comment, which only shows that the stream is alive.
    if (name === undefined) return undefined;
    this.id = fields.get('id') ?? this.id;
    const data: unknown = JSON.parse(fields.get('data') ?? '{}');
    if (name === 'away') throw awayError(data as Away);
    if (name === 'ready') this.observer.onConnection({ state: 'watching' });
    this.observer.onEvent(name, data);
    return name;
  }
}

/** Data of the event `away`: why a stream has ended. */
interface Away {
  error: { code: string; message: string };
}

function awayError({ error: { code, message } }: Away): ApiError {
  return new ApiError(code, message);
}

function cutOff(): ApiError {
  return new ApiError('STREAM_CUT_OFF', 'The live connection closes immediately: a proxy may be in the way.');
}
