import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { types } from 'node:util';
import { originalsFolder } from './originals.js';

const PROJECT = new URL('../../', import.meta.url).href;

/**
 * Makes Node compile the embedded database without optimization, which would not pay: most of these processes end
 * early.
 */
export const UNOPTIMIZED = '--liftoff-only';

/** Returns Node's arguments for a TypeScript file of this project, which was compiled when the tests began. */
export function scriptArguments({ href }: URL): string[] {
  const script = href.slice(PROJECT.length).replace(/\.ts$/, '.js');
  return [UNOPTIMIZED, join(originalsFolder(), 'compiled', script)];
}

/**
 * Runs a command until it ends, or until the guard's own input ends. The input ends when the test process is gone for
 * whatever reason, and then the command must go, too. The first line of output is the pid, written before the command
 * itself can write anything.
 */
const GUARD = `
  exec 3<&0
  sh -c 'echo $$; exec "$@"' sh "$@" 3<&- 2>&1 &
  child=$!
  ( cat <&3 >/dev/null; kill -9 $child ) >/dev/null 2>&1 &
  wait $child
  code=$?
  kill $! 2>/dev/null
  exit $code`;

export interface ChildOptions {
  cwd?: string;
  uid?: number;
  gid?: number;
  env?: NodeJS.ProcessEnv;
}

/** A process that never outlives the test process that started it. */
export class GuardedChild {
  private constructor(
    readonly pid: number,
    private readonly lines: AsyncIterator<string, undefined>,
    /** Resolves when the process has ended, for whatever reason. */
    readonly exited: Promise<void>,
  ) {}

  static async start(command: string, args: string[], options: ChildOptions = {}): Promise<GuardedChild> {
    const guard = spawn('/bin/sh', ['-c', GUARD, 'sh', command, ...args], {
      ...options,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const exited = once(guard, 'exit').then(() => {
      guard.stdin.destroy();
      // Processes that a browser started keep this pipe open for a while, which must not keep the test process alive.
      if (guard.stdout instanceof Socket) guard.stdout.unref();
    });
    const lines: AsyncIterator<string, undefined> = createInterface({ input: guard.stdout })[
      Symbol.asyncIterator
    ]();
    const pid = await lines.next();
    return new GuardedChild(Number(pid.value), lines, exited);
  }

  /** Runs a TypeScript file of this project. */
  static startScript(path: URL, args: string[], options: ChildOptions = {}): Promise<GuardedChild> {
    return GuardedChild.start(process.execPath, [...scriptArguments(path), ...args], options);
  }

  /** Resolves to the next line that it prints on either output, or to `undefined` when it has ended. */
  async nextLine(): Promise<string | undefined> {
    const line = await this.lines.next();
    return line.value;
  }

  /** Resolves to the next line that matches. Rejects with the lines so far if the process ends before. */
  async waitFor(pattern: RegExp): Promise<string> {
    const said: string[] = [];
    for (;;) {
      const line = await this.nextLine();
      if (line === undefined) throw new Error(`Ended without saying ${pattern.source}:\n${said.join('\n')}`);
      if (pattern.test(line)) return line;
      said.push(line);
    }
  }

  /** Reads and drops what the process prints: a full pipe would block it. */
  drain(): void {
    void (async () => {
      while ((await this.nextLine()) !== undefined);
    })();
  }

  /** Sends a signal that ends the process, and waits until the process is gone. It may already be gone. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    try {
      process.kill(this.pid, signal);
    } catch (error) {
      if (!isNoSuchProcess(error)) throw error;
    }
    await this.exited;
  }
}

function isNoSuchProcess(error: unknown): boolean {
  return types.isNativeError(error) && 'code' in error && error.code === 'ESRCH';
}
