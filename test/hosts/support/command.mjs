import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Characters of a program's output that an error shows. */
const MOST_OUTPUT = 5_000;

/** Variables that are set for this package's own tests, which an application of somebody else would not have. */
const NOT_FOR_HOSTS = /^(npm_|NODE_OPTIONS$|NODE_ENV$|JEST_|DEBUG$)/;

function environment(own) {
  const kept = Object.entries(process.env).filter(([name]) => !NOT_FOR_HOSTS.test(name));
  return { ...Object.fromEntries(kept), ...own };
}

/** A program that was started, with everything that it has printed. */
export class Program {
  output = '';

  constructor(argv, { cwd, env = {} }) {
    const [file, ...rest] = argv;
    this.title = argv.join(' ');
    this.child = spawn(file, rest, { cwd, env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        this.output += text;
        this.child.emit('output');
      });
    }
    /** Resolves to the program's exit code, or to the signal that ended it. */
    this.ended = once(this.child, 'close').then(([code, signal]) => code ?? signal);
  }

  failure(reason) {
    return new Error(`\`${this.title}\` ${reason}:\n${this.output.slice(-MOST_OUTPUT)}`);
  }

  async within(milliseconds, promise, reason) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(this.failure(reason)), milliseconds);
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves to the match of `pattern` in what the program prints. */
  async printed(pattern, milliseconds) {
    const search = async () => {
      for (;;) {
        const match = pattern.exec(this.output);
        if (match) return match;
        const more = once(this.child, 'output').then(() => true);
        if (!(await Promise.race([more, this.ended.then(() => false)])) && !pattern.test(this.output))
          throw this.failure('ended too early');
      }
    };
    return this.within(milliseconds, search(), `did not print ${pattern}`);
  }

  async end(signal, milliseconds) {
    this.child.kill(signal);
    return this.within(milliseconds, this.ended, `did not end after ${signal}`);
  }
}

/** Runs a program to its end, and resolves to what it printed. */
export async function command(argv, { cwd, env, milliseconds = 600_000 }) {
  const program = new Program(argv, { cwd, env });
  try {
    const result = await program.within(milliseconds, program.ended, 'took too long');
    if (result !== 0) throw program.failure(`ended with ${result}`);
    return program.output;
  } finally {
    program.child.kill('SIGKILL');
  }
}
