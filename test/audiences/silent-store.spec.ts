import { describe, expect, it } from '@jest/globals';
import { GuardedChild } from '../support/child-process.js';
import { quickConnections } from '../support/quick-connections.js';
import type { SilentStorePlan } from './children/silent-store.js';

const SCRIPT = new URL('./children/silent-store.ts', import.meta.url);

describe('a closed application', () => {
  const newConnection = quickConnections();

  it.each<[string, Omit<SilentStorePlan, 'connection'>]>([
    ['does not answer while a user is added to an audience', { method: 'offer' }],
    ['does not answer while a deleted user is removed', { method: 'withdraw' }],
    ['says that another process changes the audience', { method: 'lock', answer: false }],
    ['of destinations does not answer before a change of an audience', { method: 'findByTenant' }],
  ])('lets the process end, although its store %s', async (_, plan) => {
    const child = await GuardedChild.startScript(SCRIPT, [
      JSON.stringify({ connection: await newConnection(), ...plan }),
    ]);
    expect(await child.waitFor(/^closed/)).toBe('closed');
    await child.exited;
  });
});
