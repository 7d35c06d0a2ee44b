import { describe, expect, it } from '@jest/globals';
import { EndpointLines } from '../../src/deliveries/endpoint-lines.js';
import { FakeClock } from '../support/fake-clock.js';

const MINUTE = 60_000;
const ENDPOINT = { destination: 'crm', url: 'hash', origin: 'https://example.com' };
const OTHER = { ...ENDPOINT, url: 'other' };

class TimedLines {
  readonly clock = new FakeClock();
  readonly written: { at: number; text: string }[] = [];
  private readonly lines = new EndpointLines(
    { error: this.record, warn: this.record, log: this.record },
    new Set(['crm', 'other']),
    this.clock,
  );

  constructor() {
    // Destinations whose ids begin with the name of their tenant.
    this.lines.tenantOf = (id) => (id.includes('/') ? id.split('/')[0] : undefined);
  }

  change(endpoint = ENDPOINT): void {
    this.lines.write(endpoint, { level: 'warn', text: 'does not take events', failures: 2 });
  }

  close(): void {
    this.lines.close();
  }

  /** The largest number of lines within any minute. */
  get mostInAMinute(): number {
    const times = this.written.map(({ at }) => at);
    return Math.max(...times.map((begin) => times.filter((at) => at >= begin && at < begin + MINUTE).length));
  }

  private get record(): (text: string) => void {
    return (text) => this.written.push({ at: this.clock.now(), text });
  }
}

describe('log lines about a URL', () => {
  it.each([
    ['that keeps changing', Array.from({ length: 400 }, () => 997)],
    ['that changes again after a minute', [0, 59_000, 100, 100, 1_300, ...Array<number>(20).fill(100)]],
    ['that changes often around the end of each minute', [0, 57_000, ...Array<number>(300).fill(500)]],
    ['that changes four times a minute, and more often now and then', [0, ...Array<number>(60).fill(14_000)]],
    [
      'that is quiet for a minute at times',
      Array.from({ length: 60 }, (_, n) => (n % 10 < 9 ? 100 : 61_000)),
    ],
  ])('are at most five in any minute for a URL %s', async (_, pauses) => {
    const lines = new TimedLines();
    for (const pause of pauses) {
      await lines.clock.pass(pause);
      lines.change();
    }
    await lines.clock.pass(2 * MINUTE);
    expect(lines.mostInAMinute).toBeGreaterThanOrEqual(4);
    expect(lines.mostInAMinute).toBeLessThanOrEqual(5);
  });

  it('are summed up when the application closes, and not later', async () => {
    const lines = new TimedLines();
    for (let n = 0; n < 10; n++) lines.change();
    lines.close();
    expect(lines.written.slice(4)).toEqual([
      { at: lines.clock.now(), text: expect.stringContaining('it changed 6 times in the last minute') },
    ]);
    await lines.clock.pass(2 * MINUTE);
    expect(lines.written).toHaveLength(5);
  });

  it('sum up the changes and failures that had no line, and do not hold back lines about another URL', async () => {
    const lines = new TimedLines();
    for (let n = 0; n < 10; n++) lines.change();
    lines.change(OTHER);
    expect(lines.written).toHaveLength(5);
    await lines.clock.pass(MINUTE);
    expect(lines.written).toHaveLength(6);
    expect(lines.written[5]?.text).toMatch(/it changed 6 times in the last minute, with 12 failed requests/);
  });

  it('are few for a destination whose URLs keep being replaced, and do not hold back other destinations', async () => {
    const lines = new TimedLines();
    for (let n = 0; n < 100; n++) lines.change({ ...ENDPOINT, url: `url-${n}` });
    expect(lines.written).toHaveLength(25);
    lines.change({ ...ENDPOINT, destination: 'other' });
    expect(lines.written).toHaveLength(26);
    await lines.clock.pass(MINUTE);
    expect(lines.written.slice(26).map(({ text }) => text)).toEqual([
      expect.stringMatching(
        /^75 more lines about URLs of the destination "crm" were left out in the last minute/,
      ),
    ]);
    lines.change({ ...ENDPOINT, url: 'next' });
    expect(lines.written.at(-1)?.text).toMatch(/does not take events$/);
  });

  it('are few when very many destinations at run time fail together, except for destinations of the options', async () => {
    const lines = new TimedLines();
    for (let n = 0; n < 1_000; n++) lines.change({ ...ENDPOINT, destination: `dst_${n}` });
    expect(lines.written).toHaveLength(100);
    lines.change();
    expect(lines.written).toHaveLength(101);
    await lines.clock.pass(MINUTE);
    expect(lines.written.slice(101).map(({ text }) => text)).toEqual([
      expect.stringMatching(
        /^900 more lines about URLs of destinations that were added at run time were left out/,
      ),
    ]);
    for (let times = 0; times < 10; times++) {
      for (let n = 0; n < 1_000; n++) lines.change({ ...ENDPOINT, destination: `dst_${n}` });
      await lines.clock.pass(MINUTE / 5);
    }
    // Each of these minutes has one more line, about what was left out.
    expect(lines.written.length).toBeLessThanOrEqual(102 + 3 * 101);
  });

  it('are few for the destinations of one tenant, which leaves most lines to others', async () => {
    const lines = new TimedLines();
    const changeAll = (tenant: string): void => {
      for (let n = 0; n < 20; n++)
        for (let times = 0; times < 5; times++) lines.change({ ...ENDPOINT, destination: `${tenant}/${n}` });
    };
    changeAll('acme');
    expect(lines.written).toHaveLength(25);
    changeAll('globex');
    expect(lines.written).toHaveLength(50);
    await lines.clock.pass(MINUTE);
    const about = (pattern: RegExp): string[] =>
      lines.written.flatMap(({ text }) => (pattern.test(text) ? [text] : []));
    expect(about(/left out/)).toEqual([
      expect.stringMatching(
        /^\d+ more lines about URLs of destinations of the tenant "acme" were left out in the last minute/,
      ),
      expect.stringContaining('"globex"'),
    ]);
    // Summaries count as well.
    changeAll('acme');
    await lines.clock.pass(10 * MINUTE);
    expect(about(/acme\/.*takes some messages and not others/).length).toBeLessThanOrEqual(25);
    expect(lines.mostInAMinute).toBeLessThanOrEqual(2 * 26);
  });

  it('leave neither a timer nor a limit behind when a URL has been quiet for a minute', async () => {
    const lines = new TimedLines();
    for (let n = 0; n < 10; n++) lines.change();
    await lines.clock.pass(2 * MINUTE);
    expect(lines.clock.pending).toBe(0);
    lines.change();
    expect(lines.written.at(-1)?.text).toMatch(/does not take events$/);
  });
});
