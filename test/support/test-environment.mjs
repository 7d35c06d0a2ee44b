import { setFlagsFromString } from 'node:v8';

// When nothing is left to do, Node frees an engine of half a gigabyte piece by piece, for longer than the half second after
// which Jest says that a worker has failed to exit. An exit that is asked for leaves that to the operating system. A worker
// in which a test has left something open does not get here.
process.once('beforeExit', () => process.exit());

// Each spec compiles the embedded database anew, and most have ended before it would pay to optimize it.
setFlagsFromString('--no-wasm-tier-up');
setFlagsFromString('--no-wasm-dynamic-tiering');

export { TestEnvironment as default } from 'jest-environment-node';
