import { InvalidDestinationError } from '../errors/destination.errors.js';
import type { DestinationRecord } from '../options/destination-store.js';
import { requestOptionsOf } from '../options/resolve-destination.js';
import type { EndpointObserver } from '../webhooks/endpoint-state.js';
import type { WebhookClient } from '../webhooks/http/webhook-client.js';
import { hashUrl } from '../options/webhook-url.js';
import type { WebhooksDestinationOptions } from '../webhooks/webhooks-destination.js';
import type { DestinationDirectory } from './destination-directory.js';
import type { DestinationChange } from './destination-feed.js';
import type { AttemptSummary } from '../destinations/destination.js';
import type { DestinationLookup, DestinationProfile } from '../destinations/destination-registry.js';
import { changedVersionOf } from './destination-records.js';
import { LiveDestination } from './live-destination.js';
import type { SecretBox } from './secret-box.js';

/**
 * Milliseconds without use after which the state of a destination's URLs is forgotten, unless one of the URLs is
 * down.
 */
const FORGET_AFTER = 600_000;

export interface LiveDestinationsParts {
  directory: DestinationDirectory;
  box: SecretBox;
  client: WebhookClient;
  allowPrivateNetwork: boolean;
  observer: EndpointObserver;
  /** Called with the result of each attempt. */
  onAttempt: (record: DestinationRecord, attempt: AttemptSummary) => void;
}

interface Entry {
  readonly destination: LiveDestination;
  readonly tenant: string | undefined;
  /** The record that the destination was made from. */
  record: DestinationRecord;
  /** Time when the first of its secrets ends, in milliseconds since the epoch; Infinity if none does. */
  validUntil: number;
  usedAt: number;
}

/** The destinations at run time that this process delivers to, as they are now. */
export class LiveDestinations implements DestinationLookup {
  private readonly entries = new Map<string, Entry>();
  /** By record: the directory returns the same record until the destination changes. */
  private readonly profiles = new WeakMap<DestinationRecord, DestinationProfile>();
  private sweptAt = Date.now();

  constructor(private readonly parts: LiveDestinationsParts) {
    parts.directory.observe((change) => {
      this.onChange(change);
    });
  }

  /** @throws DestinationKeyError, InvalidDestinationError; and whatever the store rejects with */
  async find(id: string): Promise<LiveDestination | 'deleted' | undefined> {
    const record = await this.parts.directory.find(id);
    if (record === undefined || record === 'deleted') {
      this.forget(id);
      return record;
    }
    this.sweep();
    const now = Date.now();
    let entry = this.entries.get(id);
    // When a destination is enabled again, what is known of its URLs is out of date.
    if (entry !== undefined && mayHaveBeenDisabled(entry, record)) {
      this.forget(id);
      entry = undefined;
    }
    if (entry === undefined) {
      const { options, validUntil } = this.optionsOf(record, now);
      const { client, observer, onAttempt, directory } = this.parts;
      const observe = (attempt: AttemptSummary): void => {
        onAttempt(this.entries.get(id)?.record ?? record, attempt);
      };
      const destination = new LiveDestination(options, client, observer, observe, directory);
      this.entries.set(id, (entry = { destination, tenant: record.tenant, record, validUntil, usedAt: now }));
    } else {
      // Apart from a change, which may come at the same time: the end of a secret corrects no fault of a URL.
      if (entry.validUntil <= now) {
        const { options, validUntil } = this.optionsOf(entry.record, now);
        entry.destination.endSecrets(options);
        entry.validUntil = validUntil;
      }
      if (entry.record !== record) {
        const { options, validUntil } = this.optionsOf(record, now);
        entry.destination.change(options);
        Object.assign(entry, { record, validUntil });
      }
    }
    entry.usedAt = now;
    entry.destination.state = record.enabled === false ? 'disabled' : 'enabled';
    return entry.destination;
  }

  async profile(id: string): Promise<DestinationProfile | undefined> {
    const record = await this.parts.directory.find(id);
    if (record === undefined || record === 'deleted') return undefined;
    let profile = this.profiles.get(record);
    if (profile === undefined) this.profiles.set(record, (profile = profileOf(record)));
    return profile;
  }

  /** Returns the tenant of a destination that this process delivers to, if it has one. */
  tenantOf(id: string): string | undefined {
    return this.entries.get(id)?.tenant;
  }

  ownerOf(id: string): string | undefined {
    const entry = this.entries.get(id);
    return entry && (entry.tenant === undefined ? `destination ${id}` : `tenant ${entry.tenant}`);
  }

  async deletedAmong(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const { directory } = this.parts;
    await directory.refresh();
    const found = await Promise.allSettled(ids.map((id) => directory.find(id)));
    return new Set(ids.filter((_, index) => isDeleted(found[index])));
  }

  private optionsOf(
    record: DestinationRecord,
    now: number,
  ): { options: WebhooksDestinationOptions; validUntil: number } {
    const { headers, sharedSecret, standardWebhooks, retiring = [] } = this.parts.box.open(record);
    const valid = retiring.filter(({ until }) => until > now);
    const current = standardWebhooks === undefined ? [] : [standardWebhooks.secret].flat();
    const secret = [...current, ...valid.map((one) => one.secret)];
    const { options, problems } = requestOptionsOf(
      {
        ...record,
        headers,
        sharedSecret,
        standardWebhooks: secret.length === 0 ? undefined : { secret },
      },
      this.parts.allowPrivateNetwork,
    );
    if (problems.length > 0) throw new InvalidDestinationError(problems, record.id);
    return {
      options: { ...options, id: record.id },
      validUntil: Math.min(Infinity, ...valid.map(({ until }) => until)),
    };
  }

  private onChange(change: DestinationChange | undefined): void {
    for (const [id, { destination, tenant }] of this.affected(change)) {
      const isNamed = change !== undefined && (change.id === id || change.tenant === tenant);
      // A record in the application's own store may omit its tenant.
      if (change !== undefined && !isNamed && tenant !== undefined) continue;
      destination.state = 'stale';
      // Without this look-up the destination stays stale until its next job. If everything may have changed, only those
      // that fail are looked up: once such a destination is deleted, it gets no other job.
      if (change !== undefined || destination.isFailing) this.lookUp(id);
    }
  }

  /** Errors are left to the next job of the destination, or to the next sweep if it fails. */
  private lookUp(id: string): void {
    this.find(id).catch(() => undefined);
  }

  private affected(change: DestinationChange | undefined): [string, Entry][] {
    if (change?.id === undefined) return [...this.entries];
    const entry = this.entries.get(change.id);
    return entry === undefined ? [] : [[change.id, entry]];
  }

  private forget(id: string): void {
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    entry.destination.state = 'stale';
    entry.destination.end();
    this.entries.delete(id);
  }

  private sweep(): void {
    const now = Date.now();
    // The clock may be set back.
    if (Math.abs(now - this.sweptAt) < FORGET_AFTER / 4) return;
    this.sweptAt = now;
    for (const [id, { destination, usedAt }] of this.entries) {
      if (now - usedAt <= FORGET_AFTER) continue;
      // Observers that were told that a URL takes no messages want to know when it takes them again, or that it is gone.
      if (destination.isFailing && destination.state !== 'disabled') this.lookUp(id);
      else this.forget(id);
    }
  }
}

/** Whether a destination may have been disabled. Of several changes, one may disable it and another enable it again. */
function mayHaveBeenDisabled({ record: known, destination }: Entry, record: DestinationRecord): boolean {
  if (record.enabled === false) return !destination.isDisabled;
  return known.version !== undefined && changedVersionOf(record) - known.version > 1;
}

function isDeleted(found: PromiseSettledResult<unknown> | undefined): boolean {
  return found?.status === 'fulfilled' && found.value === 'deleted';
}

function profileOf({ tenant, urls }: DestinationRecord): DestinationProfile {
  // URLs in a store of the application's own may be wrong.
  const valid = urls.filter((url) => URL.canParse(url)).map((url) => new URL(url));
  // Long URLs take a while to hash, and callers ask for thousands of origins at once.
  const origins = new Map(valid.map((url) => [hashUrl(url), url.origin]));
  return { tenant, originOf: (urlHash) => origins.get(urlHash) };
}
