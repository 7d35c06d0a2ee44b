import { afterAll, afterEach, beforeEach, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { AudienceModel, type Change } from './audience-model.js';
import { AudiencesOn, type Life, membersOf } from './audiences-on.js';
import { Mortal } from './mortal.js';

const USERS = ['ann', 'bob', 'cid', 'dan', '🚀'];
/** Small, so that a handful of users takes several steps. */
const STEP_SIZE = 2;
const RUNS = { embedded: 12, Redis: 40, PostgreSQL: 12 };

const user = fc.constantFrom(...USERS);
const command = fc.oneof(
  fc.record({ do: fc.constant('sync' as const), users: fc.array(user, { maxLength: 8 }) }),
  fc.record({ do: fc.constantFrom('add' as const, 'remove' as const), user }),
);
const death = fc.oneof(
  fc.record({
    of: fc.constant('anything' as const),
    at: fc.integer({ min: 1, max: 24 }),
    isDone: fc.boolean(),
  }),
  // Deaths between a call and its record.
  fc.record({
    of: fc.constantFrom('queue' as const, 'settle' as const),
    at: fc.integer({ min: 1, max: 2 }),
    isDone: fc.boolean(),
  }),
);
const kill = fc.option(death, { freq: 2 });
const chanceSteps = fc.array(fc.record({ command, kill }), { maxLength: 5 });
/** Every command uses the store and the queue at least this often, so that each run has at least one kill. */
const certainDeath = fc.record({
  of: fc.constant('anything' as const),
  at: fc.integer({ min: 1, max: 3 }),
  isDone: fc.boolean(),
});
const steps = fc
  .tuple(chanceSteps, fc.record({ command, kill: certainDeath }), chanceSteps)
  .map(([before, killed, after]) => [...before, killed, ...after]);

type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

function changeOf(model: AudienceModel, given: Command): Change {
  if (given.do === 'sync') return model.sync(new Set(given.users));
  return given.do === 'add' ? model.add(given.user) : model.remove(given.user);
}

function carryOut({ audiences }: Life, name: string, given: Command): Promise<unknown> {
  if (given.do === 'sync') return audiences.sync(name, given.users);
  return given.do === 'add' ? audiences.add(name, given.user) : audiences.remove(name, given.user);
}

describeServersOrEmbedded('audiences', (backend) => {
  let on: AudiencesOn;
  let kills = 0;

  beforeEach(async () => {
    on = await AudiencesOn.open(backend.connection);
  });
  afterEach(() => on.close());
  afterAll(() => {
    // A run without a kill would prove nothing.
    expect(kills).toBeGreaterThanOrEqual(RUNS[backend.name]);
  });

  it('send exactly the changes of random syncs, adds and removes, even if processes are killed amid them', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const name = `run ${++run}`;
        const model = new AudienceModel(`run_${run}`);
        const survivor = on.live({ stepSize: STEP_SIZE });
        for (const { command: given, kill: end } of sequence) {
          const change = changeOf(model, given);
          if (end === null) {
            const { added, removed, kept } = model.diff(change);
            const { hasDoubts } = model;
            const result = await carryOut(survivor, name, given);
            model.done(change, await membersOf(survivor, name), await on.calls());
            const counts = { added: added.length, removed: removed.length, unchanged: kept.length };
            if (!hasDoubts)
              expect(result).toEqual(given.do === 'sync' ? counts : added.length + removed.length > 0);
          } else {
            const mortal = new Mortal(end);
            const life = on.live({ stepSize: STEP_SIZE, ...mortal.options });
            const work = carryOut(life, name, given).catch((error: unknown) => {
              if (!mortal.isDead) throw error;
            });
            await Promise.race([work, mortal.died]);
            await life.client.close(0);
            await work;
            await mortal.expire();
            if (mortal.isDead) kills++;
            const compare = mortal.isDead ? model.killed.bind(model) : model.done.bind(model);
            compare(change, await membersOf(survivor, name), await on.calls());
          }
        }
        const everybody = model.sync(new Set(USERS));
        await survivor.audiences.sync(name, USERS);
        model.done(everybody, await membersOf(survivor, name), await on.calls());
      }),
      { numRuns: RUNS[backend.name] },
    );
  }, 120_000);
});
