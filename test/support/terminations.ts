import pg from 'pg';
import { GuardedChild } from './child-process.js';

const CHILD = new URL('../queue/postgres/children/boot-and-work.ts', import.meta.url);

const TERMINATE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;

/** What an application went through. */
export interface Terminations {
  terminated: number;
  /** Whether the process was still running at the end. */
  survived: boolean;
}

/**
 * Ends `times` sessions of an application at random moments, while the application opens its queue again and again, or
 * while it works on an open queue.
 */
export async function terminateSessions(
  url: string,
  mode: 'boot' | 'steady',
  times: number,
): Promise<Terminations> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const child = await GuardedChild.startScript(CHILD, [url, mode]);
  await child.waitFor(/^begun$/);
  child.drain();
  const life = { hasEnded: false };
  void child.exited.then(() => {
    life.hasEnded = true;
  });
  let terminated = 0;
  while (terminated < times && !life.hasEnded) {
    const { rowCount } = await admin.query(TERMINATE);
    terminated += rowCount ?? 0;
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
  }
  // The effects of the last termination show a little later.
  if (!life.hasEnded) await new Promise((resolve) => setTimeout(resolve, 500));
  const survived = !life.hasEnded;
  await child.stop('SIGKILL');
  await admin.end();
  return { terminated, survived };
}
