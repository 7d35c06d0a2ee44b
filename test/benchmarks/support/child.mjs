import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What this process has to measure as a child; `undefined` in the benchmark itself. */
export const task = process.send === undefined ? undefined : JSON.parse(process.argv[2]);

// Never outlives the benchmark, however that ends.
if (task !== undefined) process.once('disconnect', () => process.exit());

/** Runs a benchmark's own file in a process of its own, so that neither heap nor compiled code is shared. */
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

/** Tells the benchmark what was measured, and ends: timers of a client may outlive it. */
export function tell(measured) {
  process.send(measured, () => process.exit());
}
