import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What this process has to measure if it is a child; `undefined` in the benchmark itself. */
export const task = process.send === undefined ? undefined : JSON.parse(process.argv[2]);

// A child ends with its benchmark, however that ends.
if (task !== undefined) process.once('disconnect', () => process.exit());

/** Runs a benchmark's own file in a child process, so that runs share neither heap nor compiled code. */
export function inChild(url, task) {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(url), [JSON.stringify(task)]);
    let told;
    child.once('message', (message) => {
      told = message;
    });
    child.once('exit', (code) => {
      if (code === 0 && told !== undefined) resolve(told);
      else reject(new Error(`A child ended with ${code} at ${JSON.stringify(task)}`));
    });
  });
}

/** Sends the benchmark what was measured, and exits: a client's timers could keep this process alive. */
export function tell(measured) {
  process.send(measured, () => process.exit());
}
