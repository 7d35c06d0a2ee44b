import type {
  DestinationPageQuery,
  StoredDestination,
  WritableDestinationStore,
} from '../../options/destination-store.js';
import type { RedisCommands } from '../../queue/queue-backend.js';
import type { OnceScript } from '../../queue/redis/once-script.js';
import type { RedisScript } from '../../queue/redis/redis-script.js';
import type { DestinationChange, DestinationChanges, DestinationFeed } from '../destination-feed.js';
import { SeenChanges } from './seen-changes.js';
import { changeText, parseChange, parseDestination } from './stored-destination.js';
import * as scripts from './redis-destination-scripts.js';

/** Answer of the script for a deleted destination. */
const DELETED = 1;

/**
 * Stores destinations on the queue's Redis. Every change is recorded with its write. Destinations without a tenant are
 * stored under an empty text, which is not a valid tenant.
 */
export class RedisDestinationStore implements WritableDestinationStore, DestinationFeed {
  private readonly seen = new SeenChanges();

  constructor(private readonly client: RedisCommands) {}

  async findByTenant(tenant: string | undefined): Promise<StoredDestination[]> {
    if (tenant === '') return [];
    return recordsIn(await this.lookUp(scripts.FIND_BY_TENANT, tenant, []));
  }

  async findById(id: string): Promise<StoredDestination | 'deleted' | undefined> {
    const answer = await this.lookUp(scripts.FIND_BY_ID, undefined, [id]);
    if (answer === DELETED) return 'deleted';
    return recordsIn([answer])[0];
  }

  async list({ tenant, after = '', enabled, limit }: DestinationPageQuery): Promise<StoredDestination[]> {
    if (tenant === '') return [];
    const selection = enabled === false ? 'disabled' : 'all';
    const args = [tenant === undefined ? selection : 'tenant', after, limit];
    return recordsIn(await this.run(scripts.LIST, tenant, args));
  }

  async insert(destination: StoredDestination, limit: number): Promise<boolean> {
    const { id, tenant } = destination;
    const most = Number.isFinite(limit) ? limit : Number.MAX_SAFE_INTEGER;
    const args = [id, textOf(destination), changeText(destination), most, flagOf(destination)];
    return this.change(scripts.INSERT, tenant, args);
  }

  async replace(destination: StoredDestination): Promise<boolean> {
    const { id, tenant, version } = destination;
    const args = [id, textOf(destination), changeText(destination), version - 1, flagOf(destination)];
    return this.change(scripts.REPLACE, tenant, args);
  }

  async remove(id: string): Promise<boolean> {
    const found = await this.findById(id);
    if (found === undefined || found === 'deleted') return false;
    return this.change(scripts.REMOVE, found.tenant, [id, changeText(found), Date.now()]);
  }

  async publish(change: DestinationChange): Promise<void> {
    await this.run(scripts.PUBLISH, undefined, [changeText(change)]);
  }

  async changesSince(since: string | undefined): Promise<DestinationChanges> {
    const answer = await this.seen.check((seen) =>
      this.run(scripts.CHANGES_SINCE, undefined, [since ?? '', ...seen]),
    );
    const parts: unknown[] = Array.isArray(answer) ? answer : [];
    const [latest, isKnown, ...changes] = parts;
    return {
      latest: String(latest),
      changes: isKnown === 1 ? changes.map((change) => parseChange(afterBlank(String(change)))) : undefined,
    };
  }

  /** Returns what a script has found beside the latest change. */
  private async lookUp(
    script: RedisScript,
    tenant: string | undefined,
    args: readonly string[],
  ): Promise<unknown> {
    const answer = await this.run(script, tenant, args);
    const parts: unknown[] = Array.isArray(answer) ? answer : [];
    const [latest, found] = parts;
    this.seen.add(String(latest));
    return found;
  }

  private async change(
    script: OnceScript,
    tenant: string | undefined,
    args: readonly (string | number)[],
  ): Promise<boolean> {
    return (await script.run(this.client, scripts.changeKeysOf(tenant ?? ''), args)) === 1;
  }

  private run(
    script: RedisScript,
    tenant: string | undefined,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    return script.run(this.client, scripts.keysOf(tenant ?? ''), args);
  }
}

function textOf(destination: StoredDestination): string {
  return `${destination.version} ${JSON.stringify(destination)}`;
}

/** Returns 1 for a disabled destination and 0 for an enabled one, as scripts expect. */
function flagOf({ enabled }: StoredDestination): number {
  return enabled === false ? 1 : 0;
}

function recordsIn(answer: unknown): StoredDestination[] {
  const texts: unknown[] = Array.isArray(answer) ? answer : [];
  const found: StoredDestination[] = [];
  for (const text of texts) if (typeof text === 'string') found.push(parseDestination(afterBlank(text)));
  return found;
}

/** Returns the JSON text after the leading number, which scripts read. */
function afterBlank(text: string): string {
  return text.slice(text.indexOf(' ') + 1);
}
