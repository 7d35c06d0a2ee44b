import { expect, it } from '@jest/globals';
import { quickConnections } from '../../support/quick-connections.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { fuzzTrackingApi } from './tracking-api-fuzz.js';
import { PLATFORMS, TrackingServer } from './tracking-server.js';

/** Milliseconds for each platform. */
const TIME = 4_000;
const newConnection = quickConnections();
const stage = new Stage();

it.each(PLATFORMS)(
  'the tracking API on %s answers any input without an internal error, and loses no message beside it',
  async (platform) => {
    expect.hasAssertions();
    const receiver = await stage.receiver();
    const writeKey = 'wk_test';
    const connection = await newConnection();
    const server = await stage.add(
      TrackingServer.start({ platform, analytics: { writeKey, webhooks: webhooksTo(receiver), connection } }),
    );
    await fuzzTrackingApi({ server, receiver, writeKey, time: TIME });
  },
);
