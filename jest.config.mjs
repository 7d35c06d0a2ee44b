import { availableParallelism, totalmem } from 'node:os';

/** Memory that a worker needs, including the servers and processes that its specs start, in bytes. */
const MEMORY_OF_A_WORKER = 1.5 * 2 ** 30;

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/test-environment.mjs',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['<rootDir>/test/hosts/', ...(process.env.CHAOS ? [] : ['<rootDir>/test/chaos/'])],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest'] },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  resolver: '<rootDir>/test/support/third-party-resolver.cjs',
  globalSetup: '<rootDir>/test/support/originals-folder.mjs',
  globalTeardown: '<rootDir>/test/support/originals-removal.mjs',
  testTimeout: 120_000,
  // Most tests wait for their own servers and processes, so there are more workers than cores. The last workers wait
  // until a core is idle (`idle-cores.mjs`). Chaos tests load the cores themselves. There are at least two workers: a
  // single worker would run in the main process, which is never replaced.
  maxWorkers: Math.min(
    availableParallelism() + (process.env.CHAOS ? 1 : 6),
    Math.max(Math.floor(totalmem() / MEMORY_OF_A_WORKER), 2),
  ),
  // Specs leave memory behind in their worker, so a worker that has grown beyond this is replaced.
  workerIdleMemoryLimit: '500MB',
  testSequencer: '<rootDir>/test/support/slow-early-sequencer.mjs',
  reporters: ['default', '<rootDir>/test/support/summary-reporter.mjs'],
};
