import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { HostResolver } from '../../../../src/webhooks/http/host-resolver.js';
import { WebhookClient } from '../../../../src/webhooks/http/webhook-client.js';
import { deliverOne } from '../../../support/deliver-one.js';
import { webhooksDestination } from '../../../support/webhooks-destination.js';

/** Enough failed attempts to open a breaker. */
const ATTEMPTS = 8;

/**
 * Delivers to a URL while this process has no file handle left, and again when it has. Prints the outcome of each
 * attempt and the reports about the URL.
 */
const [, , url = '', dnsServer = ''] = process.argv;
const said: string[] = [];
const resolver = new HostResolver({ servers: [dnsServer] });
const client = new WebhookClient({
  connections: 1,
  allowPrivateNetwork: true,
  lookup: resolver.lookupFor({ allowPrivateNetwork: true }),
});
const observer = {
  onOutcome: () => undefined,
  onDown: () => said.push('down'),
  onUp: () => said.push('up'),
};
const destination = webhooksDestination(client, [url], {}, observer);

async function deliver(): Promise<void> {
  const result = await deliverOne(destination, { id: 'm-1', body: '{}', outcomes: [] });
  const [outcome] = result?.outcomes ?? [];
  said.push(outcome?.error ?? String(outcome?.status ?? result?.class));
}

function takeAllHandles(): number[] {
  const handles: number[] = [];
  try {
    for (;;) handles.push(openSync(devNull, 'r'));
  } catch {
    return handles;
  }
}

const handles = takeAllHandles();
for (let attempt = 0; attempt < ATTEMPTS; attempt++) await deliver();
for (const handle of handles) closeSync(handle);
await deliver();
console.log(JSON.stringify(said));
resolver.close();
await client.close();
