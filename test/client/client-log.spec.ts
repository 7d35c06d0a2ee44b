import { describe, expect, it } from '@jest/globals';
import { ClientLog } from '../../src/client/client-log.js';
import { QueueHealth } from '../../src/queue/queue-health.js';
import { FakeClock } from '../support/fake-clock.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

const MINUTE = 60_000;

function logOf(clock: FakeClock): { log: ClientLog; lines: string[] } {
  const lines: string[] = [];
  const logger = { warn: (line: string) => lines.push(line), log: (line: string) => lines.push(line) };
  return { lines, log: new ClientLog(new QueueHealth('Redis', logger), logger, clock) };
}

describe('a reason for refusing messages', () => {
  it('is logged at once, then once a minute with a count while it lasts, and at once when it comes again', async () => {
    const clock = new FakeClock();
    const { log, lines } = logOf(clock);
    for (let second = 0; second < 130; second++) {
      for (let n = 0; n < 10; n++) log.onRefused('no room');
      log.onRefused('another reason');
      await clock.pass(1_000);
    }
    expect(lines).toEqual([
      'Messages are refused: no room. `status()` counts them.',
      'Messages are refused: another reason. `status()` counts them.',
      '599 more messages were refused since the last line: no room.',
      '59 more messages were refused since the last line: another reason.',
      '600 more messages were refused since the last line: no room.',
      '60 more messages were refused since the last line: another reason.',
    ]);
    await clock.pass(3 * MINUTE);
    expect(clock.pending).toBe(0);
    log.onRefused('no room');
    expect(lines.at(-1)).toBe('Messages are refused: no room. `status()` counts them.');
  });

  it('is logged with its last count at the end, and keeps no process alive', async () => {
    const clock = new FakeClock();
    const { log, lines } = logOf(clock);
    log.onRefused('no room');
    log.onRefused('no room');
    expect(clock.holding).toBe(0);
    await clock.pass(10);
    log.onClosed();
    expect(lines.slice(1)).toEqual(['1 more message was refused since the last line: no room.']);
    expect(clock.pending).toBe(0);
  });
});

describe('a key that names no destination', () => {
  const stage = new Stage();

  it('is logged once if it is in `integrations`, with the key that was probably meant', async () => {
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(await stage.receiver()),
    });
    const send = (integrations: Record<string, boolean>): string =>
      app.analytics.track({ userId: 'u1', event: 'A', integrations });
    for (let n = 0; n < 3; n++) {
      send({ all: false });
      send({ webhooks: false, Mixpanel: true });
      send({ All: true, Webhooks: true });
    }
    expect(await app.analytics.flush()).toEqual({ queued: 9, refused: 0, pending: 0 });
    const line = (key: string, hint = ''): string =>
      `warn: The key "${key}" in \`integrations\` has no effect, since no destination has that name or id.${hint}`;
    expect(app.log.analytics).toEqual([
      line('all', ' Did you mean "All"?'),
      line('webhooks', ' Did you mean "Webhooks"?'),
      line('Mixpanel'),
    ]);
  });

  it('never fills the log, however many such keys there are and however long they are', () => {
    const { log, lines } = logOf(new FakeClock());
    for (let n = 0; n < 1_000; n++) log.unknownIntegration(`${n}\n${'x'.repeat(10_000)}`, undefined, false);
    expect(lines).toHaveLength(50);
    for (const line of lines) {
      expect(line.length).toBeLessThan(200);
      expect(line).not.toContain('\n');
    }
  });

  it('reaches the log without characters that a terminal obeys or that change how the line is read', () => {
    const { log, lines } = logOf(new FakeClock());
    const characters = ['\u007f', '\u0085', '\u009b2J', '\u2028', '\u202e', '\u200b', '\u{e0041}'];
    for (const character of characters) log.unknownIntegration(`a${character}`, undefined, false);
    expect(lines).toHaveLength(characters.length);
    for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(lines[2]).toContain('"a\\u009b2J"');
  });

  it('is logged at start if it is in the schema of a source', async () => {
    const app = await stage.app({
      connection: await newConnection(),
      writeKey: undefined,
      sources: [{ name: 'web', writeKey: 'wk', schema: { A: { webhooks: false }, B: { 'cust-1': false } } }],
      webhooks: [webhooksTo(await stage.receiver(), { id: 'cust-1' })],
    });
    expect(app.log.analytics).toEqual([
      'warn: The key "webhooks" in the `schema` of the source "web" has no effect, since no destination has that ' +
        'name or id. Did you mean "Webhooks"?',
    ]);
  });
});
