import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { TestEnvironment as NodeEnvironment } from 'jest-environment-node';
import 'reflect-metadata';
import { idleCores } from './idle-cores.mjs';

// At the end of a worker, Node frees an engine of half a gigabyte piece by piece. That takes longer than the half
// second after which Jest reports that a worker has failed to exit. With `process.exit`, the operating system frees it
// instead. A worker in which a test has left something open does not get here.
process.once('beforeExit', () => process.exit());

// Each spec compiles the embedded database anew, and most end before optimizing it would pay.
setFlagsFromString('--no-wasm-tier-up');
setFlagsFromString('--no-wasm-dynamic-tiering');

// Each spec has a `Promise` of its own, so Express's router takes the promises of its handlers for those of a library.
process.env.NO_DEPRECATION = 'router';

/** Number of workers that never wait for an idle core. */
const ALWAYS_AT_WORK = availableParallelism() + 1;

/** Node's environment, but specs share their worker's packages, and the globals that these packages compare or mock. */
export default class TestEnvironment extends NodeEnvironment {
  constructor(...args) {
    super(...args);
    this.global[Symbol.for('nestjs-analytics.tests.require')] = createRequire(import.meta.url);
    // The metadata of decorators, the types in that metadata, and the clock, which a test may set.
    Object.assign(this.global, { Reflect, String, Number, Boolean, Date });
  }

  async setup() {
    await super.setup();
    if (Number(process.env.JEST_WORKER_ID) > ALWAYS_AT_WORK) await idleCores();
  }

  async teardown() {
    this.moduleMocker?.restoreAllMocks();
    await super.teardown();
  }
}
