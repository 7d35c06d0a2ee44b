import { afterAll, expect, it } from '@jest/globals';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { fuzzTrackingApi } from '../ingest/http/tracking-api-fuzz.js';
import { PLATFORMS, TrackingServer } from '../ingest/http/tracking-server.js';

/** How long each platform is tested, in milliseconds. */
const TIME = 120_000;
const TIMEOUT = 600_000;

const folders = new EmbeddedFolders();
const stage = new Stage();
afterAll(() => folders.dispose());

it.each(PLATFORMS)(
  'the tracking API on %s answers any input without an error of its own, and loses no valid message beside it',
  async (platform) => {
    expect.hasAssertions();
    const receiver = await stage.receiver();
    const writeKey = 'wk_test';
    const connection = { embedded: { dataDir: await folders.copiedDataDir() } };
    const server = await stage.add(
      TrackingServer.start({ platform, analytics: { writeKey, webhooks: webhooksTo(receiver), connection } }),
    );
    await fuzzTrackingApi({ server, receiver, writeKey, time: TIME });
  },
  TIMEOUT,
);
