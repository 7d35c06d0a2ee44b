import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { outboxTable } from '../../src/outbox/outbox-table.js';

const ROOT = new URL('../../', import.meta.url);

describe('`npx nestjs-analytics outbox-sql`', () => {
  function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
    const { bin } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
      bin: Record<string, string>;
    };
    const program = fileURLToPath(new URL(bin['nestjs-analytics'] ?? '', ROOT));
    return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
  }

  it('prints the SQL of the default table', () => {
    expect(run('outbox-sql')).toMatchObject({
      status: 0,
      stdout: outboxTable('nestjs_analytics', 'outbox').create,
      stderr: '',
    });
  });

  it('prints the SQL of another table', () => {
    const { stdout } = run('outbox-sql', '--schema', 'shop', '--table', 'events');
    expect(stdout).toBe(outboxTable('shop', 'events').create);
  });

  it.each([[['--help']], [['-h']], [['outbox-sql', '--help']], [['outbox-sql', '-h']]])(
    'prints its usage for %j, without an error',
    (args: string[]) => {
      expect(run(...args)).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/^Usage: nestjs-analytics outbox-sql/),
        stderr: '',
      });
    },
  );

  it.each([
    [['outbox-sql', '--table', 'a"; DROP TABLE b']],
    [['outbox-sql', '--name', 'a']],
    [['outbox-sql', '--table', '2024_outbox'], /--table .*does not begin with a digit/],
    [['outbox']],
    [[]],
  ])('refuses %j', (args: string[], problem = /\S/) => {
    const { status, stdout, stderr } = run(...args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^\S.*\n[^]*Usage: nestjs-analytics/);
    expect(stderr).toMatch(problem);
  });
});
