/** Syncs an audience in small steps and prints when each step is done and when all are done. */
import { AudiencesOn } from '../audiences-on.js';
import type { TestConnection } from '../../support/describe-backend.js';

/** The sync that the process is to make. */
export interface SyncPlan {
  connection: TestConnection;
  name: string;
  users: string[];
  lockDuration: number;
}

function isPlan(value: unknown): value is SyncPlan {
  return typeof value === 'object' && value !== null && 'users' in value && 'lockDuration' in value;
}

const plan: unknown = JSON.parse(process.argv[2] ?? '');
if (!isPlan(plan)) throw new Error('A plan is needed');
const on = await AudiencesOn.open(plan.connection);
const { audiences } = on.live({ stepSize: 20, lockDuration: plan.lockDuration });
console.log('open');
await audiences.sync(plan.name, plan.users, {
  onProgress: () => {
    console.log('step');
  },
});
console.log('done');
await on.close();
