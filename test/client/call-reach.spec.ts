import { describe, expect, it } from '@jest/globals';
import type { CallReach } from '../../src/client/call-reach.js';
import type { Reach } from '../../src/client/lookup-wait.js';
import type { Route } from '../../src/client/router.js';
import { deferred } from '../support/deferred.js';
import type { FakeClock } from '../support/fake-clock.js';
import { clientUnderTest, connectionTo } from './client-under-test.js';

describe('the reach of calls about users of several tenants', () => {
  interface Scene {
    clock: FakeClock;
    /** Asks for calls about one user of each tenant. */
    ask: (...tenants: string[]) => ReturnType<CallReach['takesEach']>;
    /** Look-ups of tenants that are not known are answered from now on. */
    answer: () => void;
    /** From now on nothing has to be looked up. */
    know: () => void;
  }

  function scene(): Scene {
    const route: Route = { connections: [connectionTo('one')], isFiltered: false };
    const answered = deferred();
    let isKnown = false;
    const { client, clock } = clientUnderTest({
      router: () => ({
        forwards: false,
        isReady: true,
        leads: () => true,
        ownerOf: ({ userId }) => userId,
        route: (_source, { userId }) =>
          isKnown || userId === 'known' ? route : answered.promise.then(() => route),
      }),
    });
    const givenUp = new Map<string, number>();
    return {
      clock,
      ask: (...tenants) =>
        client.reach.takesEach(
          'web',
          'identify',
          tenants.map((userId) => ({ userId })),
          givenUp,
        ),
      answer: answered.resolve,
      know: () => {
        isKnown = true;
      },
    };
  }

  async function gaveUp({ clock, ask }: Scene): Promise<readonly Reach[]> {
    const reaches = ask('acme', 'known');
    await clock.pass(2_000);
    return reaches;
  }

  it('stays unknown, without another wait, for a tenant that was given up', async () => {
    const each = scene();
    expect(await gaveUp(each)).toEqual([undefined, true]);
    expect(await each.ask('acme', 'known')).toEqual([undefined, true]);
  });

  it('is known as soon as the tenant is known', async () => {
    const each = scene();
    await gaveUp(each);
    each.know();
    expect(await each.ask('acme', 'known')).toEqual([true, true]);
  });

  it('is awaited again some time after a tenant was given up', async () => {
    const each = scene();
    await gaveUp(each);
    await each.clock.pass(15_000);
    const again = each.ask('acme', 'known');
    each.answer();
    expect(await again).toEqual([true, true]);
  });
});
