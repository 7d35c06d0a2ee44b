import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DestinationDirectory } from '../../src/stored-destinations/destination-directory.js';
import { type LiveDestination, LiveDestinations } from '../../src/stored-destinations/live-destinations.js';
import { SecretBox } from '../../src/stored-destinations/secret-box.js';
import { WebhookClient } from '../../src/webhooks/http/webhook-client.js';
import { deliverOne } from '../support/deliver-one.js';
import { FakeClock } from '../support/fake-clock.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { FarStore } from './far-store.js';

const RECORD = { id: 'crm', tenant: 'acme', createdAt: 0, updatedAt: 0 };

describe('a destination at run time that a process delivers to', () => {
  const stage = new Stage();
  let clock: FakeClock;
  let store: FarStore;
  let directory: DestinationDirectory;
  let client: WebhookClient;
  let receiver: Receiver;
  let destination: LiveDestination;

  beforeEach(async () => {
    clock = new FakeClock();
    store = new FarStore();
    directory = new DestinationDirectory({ store, feed: store, clock });
    client = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
    receiver = await stage.receiver();
    const destinations = new LiveDestinations({
      directory,
      box: new SecretBox([]),
      client,
      allowPrivateNetwork: true,
      observer: { onOutcome: () => undefined, onDown: () => undefined, onUp: () => undefined },
      onAttempt: () => undefined,
    });
    await store.insert({ ...RECORD, urls: [receiver.url('/old')], version: 1 }, 1);
    const found = await destinations.find('crm');
    if (typeof found !== 'object') throw new Error('It is not found');
    destination = found;
  });
  afterEach(async () => {
    directory.close();
    await client.close();
  });

  const deliver = (): ReturnType<typeof deliverOne> =>
    deliverOne(destination, { id: 'm1', body: '{}', outcomes: [] });

  /** Another process gives it another URL. */
  async function change(): Promise<void> {
    await store.replace({ ...RECORD, urls: [receiver.url('/new')], version: 2 });
    await store.publish({ id: 'crm', tenant: 'acme' });
  }

  it('is changed within two seconds, also in the midst of a job that takes long', async () => {
    for (let seconds = 0; seconds < 60; seconds += 5) {
      await deliver();
      await clock.pass(5_000);
    }
    await change();
    await clock.pass(2_000);
    await deliver();
    expect(new Set(receiver.requests.slice(0, -1).map(({ url }) => url))).toEqual(new Set(['/old']));
    expect(receiver.requests.at(-1)?.url).toBe('/new');
  });

  it('is changed two seconds after the first message of a job that was long at a standstill', async () => {
    await clock.pass(600_000);
    await change();
    await deliver();
    await clock.pass(2_000);
    await deliver();
    expect(receiver.requests.map(({ url }) => url)).toEqual(['/old', '/new']);
  });
});
