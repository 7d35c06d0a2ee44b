import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const PROGRAM = `
  const { parentPort } = require('node:worker_threads');
  parentPort.on('message', (message) => parentPort.postMessage(message));
  parentPort.postMessage('ready');`;

/** A thread that answers each message at once, even while this process stands still. */
export class EchoThread {
  private constructor(private readonly worker: Worker) {}

  static async start(): Promise<EchoThread> {
    const worker = new Worker(PROGRAM, { eval: true });
    await once(worker, 'message');
    return new EchoThread(worker);
  }

  /** Resolves to the same text once its answer has arrived. */
  async answer(text: string): Promise<unknown> {
    const answered = once(this.worker, 'message');
    this.worker.postMessage(text);
    const [message] = (await answered) as unknown[];
    return message;
  }

  /** Resolves when an answer is read that has arrived while the process stood still for this long. */
  async answerAfterStall(milliseconds: number): Promise<void> {
    const answered = this.answer('asked');
    standStill(milliseconds);
    await answered;
  }

  async close(): Promise<void> {
    await this.worker.terminate();
  }
}

/** Keeps the event loop from turning. */
export function standStill(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
