import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const CHILD = fileURLToPath(new URL('./children/both-formats.mjs', import.meta.url));
const LOADED_AGAIN = fileURLToPath(new URL('./children/loaded-again.mjs', import.meta.url));
const run = promisify(execFile);

describe('An application that loads ES modules and CommonJS of the package', () => {
  it('has one instance of each service, which decorators of both formats use', async () => {
    const { stdout, stderr } = await run(process.execPath, [CHILD, 'before'], { timeout: 110_000 });
    expect(stdout.trim().split('\n')).toEqual([
      'AnalyticsHealthIndicator true',
      'AnalyticsService true',
      'AudiencesService true',
      'ConsoleService true',
      'DeliveriesService true',
      'DestinationsService true',
      'OutboxService true',
      '{"queued":1,"refused":0,"pending":0}',
    ]);
    expect(stderr).toBe('');
  });

  it('gets a warning if the second format is loaded too late for that', async () => {
    const { stderr } = await run(process.execPath, [CHILD, 'after'], { timeout: 110_000 });
    expect(stderr).toMatch(/\[NESTJS_ANALYTICS_LOADED_TWICE\] .*loaded a second time/);
  });
});

describe('An application that evaluates a file of the package again, as a test that resets its modules does', () => {
  it('gives its services to both copies, gets no warning, and keeps no copy in between in memory', async () => {
    const { stdout, stderr } = await run(process.execPath, ['--expose-gc', LOADED_AGAIN], {
      timeout: 110_000,
    });
    expect({ said: stdout.trim().split('\n'), stderr }).toEqual({
      said: ['given true', 'given true', 'held 0'],
      stderr: '',
    });
  });
});
