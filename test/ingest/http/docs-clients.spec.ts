import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeMissing } from '../../support/describe-backend.js';
import { quickConnections } from '../../support/quick-connections.js';
import { findBinary } from '../../support/find-binary.js';
import { readmeSnippet } from '../../support/readme-snippet.js';
import { messageIn } from '../../support/received-message.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { TrackingServer } from './tracking-server.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

/** Clients that the page shows, with the programs that run them. */
const CLIENTS = [
  { name: 'segment', program: process.execPath, file: 'segment.mjs' },
  { name: 'rudderstack', program: process.execPath, file: 'rudderstack.mjs' },
];
const TITLE = 'the page about sources shows what brings an event to a receiver';

if (findBinary('curl') === undefined) describeMissing(`${TITLE}: curl`, 'curl');
else CLIENTS.push({ name: 'curl', program: '/bin/sh', file: 'curl.sh' });

describe(TITLE, () => {
  const stage = new Stage();
  const newConnection = quickConnections();
  let page: string;
  /** Folder inside the package, so that the snippets find the libraries by their names. */
  let folder: string;

  beforeAll(async () => {
    page = await readFile(join(ROOT, 'docs', 'sources.md'), 'utf8');
    folder = await mkdtemp(join(ROOT, 'dist', 'clients-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it.each(CLIENTS)('from a server: $name', async ({ name, program, file }) => {
    const receiver = await stage.receiver();
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          sources: [{ name: 'backend', writeKey: 'wk_backend' }],
          webhooks: webhooksTo(receiver),
          connection: await newConnection(),
        },
      }),
    );
    const code = readmeSnippet(page, name).replace('https://events.example.com', server.url);
    await writeFile(join(folder, file), code);
    await run(program, [file], { cwd: folder, timeout: 20_000 });

    await receiver.received(1);
    expect(receiver.requests.map(messageIn)).toEqual([
      expect.objectContaining({
        type: 'track',
        userId: '019mr8mf4r',
        event: 'Item Purchased',
        properties: { revenue: 39.95 },
      }),
    ]);
  });
});
