import { ApiError } from './api-requests.js';

/** After a stream has ended, in milliseconds; twice as long after each that fails or does not last. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8_000;
/** What is open for so long has lasted, in milliseconds. */
const LASTING = 5_000;
/**
 * A connection over which nothing comes for so long is dead, in milliseconds, whatever the browser knows of it: the
 * application sends something every few seconds, and waits for its database no longer than this.
 */
const LONGEST_SILENCE = 15_000;

/** Nobody may watch any more, or there is nothing left to watch, so asking again changes nothing. */
const FINAL: readonly string[] = [
  'UNAUTHORIZED',
  'LINK_ENDED',
  'CONSOLE_HEADER_MISSING',
  'CROSS_ORIGIN',
  'DESTINATION_NOT_FOUND',
];

/** Whether events arrive: `away` is tried again, `ended` is not. */
export type StreamState = 'connecting' | 'watching' | 'away' | 'ended';

/** A connection, and what is wrong with it. */
export interface Connection {
  state: StreamState;
  error?: Error | undefined;
}

export interface StreamObserver {
  /** A server-sent event: the first of each connection is `ready`. */
  onEvent(name: string, data: unknown): void;
  onConnection(connection: Connection): void;
}

/**
 * Opens a stream of server-sent events.
 *
 * @param id of the latest event that is known
 */
export type OpenStream = (id: string | undefined, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;

/** Breaks a connection off over which nothing comes. */
class SilenceWatch {
  private readonly abort = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.restart();
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  /** Something has come. */
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

/** Receives server-sent events, and goes on where it was when the connection was lost. */
export class StreamClient {
  /** Of the latest event. */
  private id: string | undefined;
  private pause = FIRST_PAUSE;

  constructor(
    private readonly open: OpenStream,
    private readonly observer: StreamObserver,
  ) {}

  /** Resolves when the signal is aborted, or nothing can be received any more. */
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
      // One that begins well and ends at once, over and over, must not be asked for without a pause either.
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

/** Why a stream goes on no more. */
interface Away {
  error: { code: string; message: string };
}

function awayError({ error: { code, message } }: Away): ApiError {
  return new ApiError(code, message);
}

function cutOff(): ApiError {
  return new ApiError('STREAM_CUT_OFF', 'The live connection closes immediately: a proxy may be in the way.');
}
