import { analyticsMatchers } from './matchers.js';

/** Key of vitest's `expect`, which is not a global variable by default. */
const VITEST_EXPECT = Symbol.for('expect-global');

interface Extensible {
  extend(matchers: object): void;
}

/** Returns the `expect` of Jest or vitest, whichever runs; `undefined` outside of both. */
function findExpect(): Extensible | undefined {
  return [Reflect.get(globalThis, 'expect'), Reflect.get(globalThis, VITEST_EXPECT)].find(isExtensible);
}

function isExtensible(value: unknown): value is Extensible {
  return typeof value === 'function' && 'extend' in value && typeof value.extend === 'function';
}

findExpect()?.extend(analyticsMatchers);
