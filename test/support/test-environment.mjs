import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { TestEnvironment as NodeEnvironment } from 'jest-environment-node';
import 'reflect-metadata';
import { idleCores } from './idle-cores.mjs';

// When nothing is left to do, Node frees an engine of half a gigabyte piece by piece, for longer than the half second after
// which Jest says that a worker has failed to exit. An exit that is asked for leaves that to the operating system. A worker
// in which a test has left something open does not get here.
process.once('beforeExit', () => process.exit());

// Each spec compiles the embedded database anew, and most have ended before it would pay to optimize it.
setFlagsFromString('--no-wasm-tier-up');
setFlagsFromString('--no-wasm-dynamic-tiering');

// A spec has a `Promise` of its own, so Express's router takes what its handlers return for that of a library.
process.env.NO_DEPRECATION = 'router';

/** Workers that never wait for an idle core. */
const ALWAYS_AT_WORK = availableParallelism() + 1;

/** Node's environment, in which specs share the packages of their worker, and with them what these compare or mock. */
export default class TestEnvironment extends NodeEnvironment {
  constructor(...args) {
    super(...args);
    this.global[Symbol.for('nestjs-analytics.tests.require')] = createRequire(import.meta.url);
    // The metadata of decorators, the types in it, and the clock, which a test may set.
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
