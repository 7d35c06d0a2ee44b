import { Worker } from 'node:worker_threads';
import { jest } from '@jest/globals';

/** Tracks the threads of embedded databases, so that a test can end them as a crash does. */
export class DatabaseThreads {
  private readonly asked = jest.spyOn(Worker.prototype, 'postMessage');

  /** Ends the thread that was last sent a message, in the middle of whatever it does. */
  async crash(): Promise<void> {
    const [thread] = this.asked.mock.contexts.slice(-1);
    if (!(thread instanceof Worker)) throw new Error('No thread was asked for anything yet');
    await thread.terminate();
  }

  dispose(): void {
    this.asked.mockRestore();
  }
}
