import { Worker } from 'node:worker_threads';
import type { PgQueryResult } from 'bullmq';
import {
  EmbeddedQueueBrokenError,
  EmbeddedQueueOpenError,
  messageOf,
} from '../../errors/embedded-queue.errors.js';
import { compiledDatabase } from './compiled-database.js';
import type { DatabaseEngine, DatabaseFiles } from './database-engine.js';
import { MEMORY_DIR } from './pglite-factory.js';
import { type ThreadMessage, type ThreadRequest, unpackError } from './thread-messages.js';
import { unpackTemplate } from './unpacked-template.js';

type Request = ThreadRequest extends infer R ? (R extends unknown ? Omit<R, 'id'> : never) : never;

interface Call {
  resolve: (result: PgQueryResult<unknown> | undefined) => void;
  reject: (error: Error) => void;
}

/**
 * An embedded database in a thread of its own, so that its work does not hold up the application's requests. If the
 * thread crashes, all unanswered calls fail.
 */
export class DatabaseThread implements DatabaseEngine {
  private readonly calls = new Map<number, Call>();
  private lastId = 0;
  private broken: EmbeddedQueueBrokenError | undefined;
  private listener: (channel: string, payload: string) => void = () => undefined;

  private constructor(private readonly worker: Worker) {
    worker.on('message', this.receive);
    worker.on('error', this.crashed);
    worker.on('messageerror', this.crashed);
    worker.on('exit', (code) => {
      this.crashed(new Error(`The embedded database's thread exited with code ${code}`));
    });
    worker.unref();
  }

  /**
   * @param file path of the thread's own code
   * @throws EmbeddedQueueOpenError when the database does not start, or the thread ends.
   */
  static async open(file: string, files: DatabaseFiles): Promise<DatabaseThread> {
    // Options such as `--import` are meant for the application: the thread has no need of what they load.
    const worker = new Worker(file, { name: 'nestjs-analytics database', execArgv: [] });
    const thread = new DatabaseThread(worker);
    try {
      const compiled = compiledDatabase();
      // A compile failure is handled below, after the files are written: until then the folder must not be released.
      compiled.catch(() => undefined);
      const prepared = await prepare(files);
      await thread.ask({ kind: 'open', files: { ...prepared, module: await compiled } });
      return thread;
    } catch (error) {
      await worker.terminate();
      if (!(error instanceof EmbeddedQueueBrokenError)) throw error;
      const { cause } = error;
      throw new EmbeddedQueueOpenError(files.path, messageOf(cause), { cause });
    }
  }

  async query<R>(text: string, params?: readonly unknown[], isDurable = true): Promise<PgQueryResult<R>> {
    const result = await this.ask({ kind: 'query', text, params, isDurable });
    // As with `pg`, only the caller knows the type of the rows.
    return result as PgQueryResult<R>;
  }

  onNotification(listener: (channel: string, payload: string) => void): void {
    this.listener = listener;
  }

  async close(): Promise<void> {
    try {
      if (this.broken === undefined) await this.ask({ kind: 'close' });
    } finally {
      // The next opener of the folder must not find it in use.
      await this.worker.terminate();
    }
  }

  async breakOff(): Promise<void> {
    await this.worker.terminate();
  }

  private ask(request: Request): Promise<PgQueryResult<unknown> | undefined> {
    return new Promise((resolve, reject) => {
      if (this.broken !== undefined) throw this.broken;
      const id = ++this.lastId;
      this.worker.postMessage({ ...request, id });
      // Pending calls keep the process alive. An idle database does not.
      if (this.calls.size === 0) this.worker.ref();
      this.calls.set(id, { resolve, reject });
    });
  }

  private readonly receive = (message: ThreadMessage): void => {
    if (message.kind === 'notification') {
      this.listener(message.channel, message.payload);
      return;
    }
    const call = this.calls.get(message.id);
    this.calls.delete(message.id);
    if (this.calls.size === 0) this.worker.unref();
    if (message.kind === 'done') call?.resolve(message.result);
    else call?.reject(unpackError(message.error));
  };

  private readonly crashed = (cause: Error): void => {
    this.broken ??= new EmbeddedQueueBrokenError({ cause });
    for (const { reject } of this.calls.values()) reject(this.broken);
    this.calls.clear();
    this.worker.unref();
  };
}

/** Unpacks the template of a database on disk here, so that the thread has less to do. */
async function prepare(files: DatabaseFiles): Promise<DatabaseFiles> {
  const { template, path } = files;
  if (template === undefined || path === MEMORY_DIR) return files;
  await unpackTemplate(template, path);
  return { ...files, template: undefined };
}
