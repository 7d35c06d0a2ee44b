import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { types } from 'node:util';
import { originalsFolder } from './originals.js';

const PROJECT = new URL('../../', import.meta.url).href;

/**
 * Has Node compile the embedded database without optimization: most of these processes have ended before that would
 * pay.
 */
export const UNOPTIMIZED = '--liftoff-only';

/** The arguments of Node for a TypeScript file of this project, which was compiled when the tests began. */
export function scriptArguments({ href }: URL): string[] {
  const script = href.slice(PROJECT.length).replace(/\.ts$/, '.js');
  return [UNOPTIMIZED, join(originalsFolder(), 'compiled', script)];
}

/**
 * Runs what it is given until that ends, or until its own input ends: then the test process is gone,
 * however it went, and what it started must go too. The first line of output is the pid, written before the
 * program itself can write anything.
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
    /** Resolves when it has ended, in whatever way. */
    readonly exited: Promise<void>,
  ) {}

  static async start(command: string, args: string[], options: ChildOptions = {}): Promise<GuardedChild> {
    const guard = spawn('/bin/sh', ['-c', GUARD, 'sh', command, ...args], {
      ...options,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const exited = once(guard, 'exit').then(() => {
      guard.stdin.destroy();
      // Processes that a browser has started hold it for a while longer, which must not keep this one alive.
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

  /** The next line that it prints on either output, or `undefined` when it has ended. */
  async nextLine(): Promise<string | undefined> {
    const line = await this.lines.next();
    return line.value;
  }

  /** Resolves to the next line that matches; rejects, with what was said, when it ends before. */
  async waitFor(pattern: RegExp): Promise<string> {
    const said: string[] = [];
    for (;;) {
      const line = await this.nextLine();
      if (line === undefined) throw new Error(`Ended without saying ${pattern.source}:\n${said.join('\n')}`);
      if (pattern.test(line)) return line;
      said.push(line);
    }
  }

  /** Reads on and forgets what it prints: a pipe that fills up would block it. */
  drain(): void {
    void (async () => {
      while ((await this.nextLine()) !== undefined);
    })();
  }

  /** Sends a signal that ends the process, and waits until it is gone; it may be gone already. */
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
