import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.js';
import { until } from './until.js';

/** A state in which a Redis answers and stores nothing. */
export interface RedisRefusal {
  /** The code of its errors. */
  code: string;
  begin(admin: Redis, server: RedisServer): Promise<unknown>;
  end(admin: Redis, server: RedisServer): Promise<unknown>;
}

export const OUT_OF_MEMORY: RedisRefusal = {
  code: 'OOM',
  begin: (admin) => admin.config('SET', 'maxmemory', '1'),
  end: (admin) => admin.config('SET', 'maxmemory', '0'),
};

/** Puts a folder where the snapshot would go: a snapshot cannot replace a folder. */
export const NO_SNAPSHOTS: RedisRefusal = {
  code: 'MISCONF',
  begin: async (admin, { dir }) => {
    await admin.config('SET', 'save', '3600 1');
    await mkdir(join(dir, 'dump.rdb', 'in-the-way'), { recursive: true });
    await admin.save().catch(() => undefined);
    await admin.bgsave();
    await until(async () => (await admin.info('persistence')).includes('bgsave_status:err') || undefined);
  },
  end: async (admin, { dir }) => {
    await admin.config('SET', 'save', '');
    await rm(join(dir, 'dump.rdb'), { recursive: true, force: true });
  },
};

/** Makes the server a replica that keeps its data, since it cannot reach its master: nobody listens on that port. */
export const DEMOTED: RedisRefusal = {
  code: 'READONLY',
  begin: (admin) => admin.replicaof('127.0.0.1', 1),
  end: (admin) => admin.replicaof('NO', 'ONE'),
};
