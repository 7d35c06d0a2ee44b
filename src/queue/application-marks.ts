import { createHash } from 'node:crypto';
import { forwardingId } from '../options/resolve-forwarding.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { hashUrl } from '../options/webhook-url.js';
import type { QueuedBatch } from './batch-job.js';

/** Maximum number of marks of a message that is stored outside a batch: such a message is small. */
const MOST_OF_MESSAGE = 4;
/** Maximum number of write keys among these marks. */
const MOST_KEYS = 2;

/**
 * The application that a stored message belongs to. `uncertain`: another application, or this one before its write keys
 * changed.
 */
export type Ownership = 'own' | 'uncertain' | 'other';

/**
 * Marks batches for configured destinations with hashes of their source's write key and of their destination's URLs.
 * Another application on the same database, even without a `prefix`, may well have a destination of the same name, such
 * as the default one, and must not send this application's batches to it. A deploy may change a write key or a URL, but
 * hardly all of them at once.
 */
export class ApplicationMarks {
  private readonly keys: ReadonlyMap<string, string>;
  private readonly ownKeys: ReadonlySet<string>;
  private readonly urls: ReadonlyMap<string, readonly string[]>;
  private readonly places: ReadonlySet<string>;
  private readonly own: ReadonlySet<string>;

  constructor(options: Pick<ResolvedOptions, 'sources' | 'webhooks' | 'forwarding' | 'prefix'>) {
    const { sources, webhooks, forwarding } = options;
    this.keys = new Map(sources.map(({ name, writeKey }) => [name, hash(writeKey)]));
    this.ownKeys = new Set(this.keys.values());
    this.urls = new Map(
      forwarding === undefined
        ? webhooks.map(({ id, urls }) => [id, urls.map(hashUrl)])
        : sources.map(({ name }) => [forwardingId(name), [hashUrl(forwarding.url)]]),
    );
    this.places = new Set(placesOf(options));
    this.own = new Set([...this.ownKeys, ...[...this.urls.values()].flat(), ...this.places]);
  }

  /**
   * Returns the marks of a batch, or `undefined` for a destination at run time, whose id is unique, and for a custom
   * destination, which has no URL.
   */
  of({ destination, source }: Pick<QueuedBatch, 'destination' | 'source'>): string[] | undefined {
    const urls = this.urls.get(destination);
    if (urls === undefined) return undefined;
    const key = this.keys.get(source);
    return key === undefined ? [...urls] : [key, ...urls];
  }

  /**
   * Returns the marks of a message that is stored before it is in a batch: the write keys of its source and of another
   * source, since not all keys change at once, and then some of the hashes of the application's URLs and `prefix`.
   */
  ofMessage(source: string): string[] {
    const key = this.keys.get(source);
    const keys = new Set(key === undefined ? [] : [key]);
    for (const other of this.ownKeys) if (keys.size < MOST_KEYS) keys.add(other);
    return [...keys, ...this.places].slice(0, MOST_OF_MESSAGE);
  }

  /** Returns whose a stored message is. Only a write key is certain, since applications may share a receiver. */
  ownershipOf({ marks }: Pick<QueuedBatch, 'marks'>): Ownership {
    if (marks === undefined) return 'own';
    if (marks.some((mark) => this.ownKeys.has(mark))) return 'own';
    return marks.some((mark) => this.places.has(mark)) ? 'uncertain' : 'other';
  }

  /** Whether this process's options name a destination, so that its batches are marked. */
  isConfigured(destination: string): boolean {
    return this.urls.has(destination);
  }

  /** Whether this application has queued a batch, or may have. */
  isOwn({ marks }: Pick<QueuedBatch, 'marks'>): boolean {
    return marks === undefined || marks.some((mark) => this.own.has(mark));
  }
}

/**
 * Returns the marks that an application keeps when its write keys change: hashes of its URLs, each together with its
 * `prefix`. The URL of an `endpoint` identifies no application, since all that forward to it share it.
 */
function placesOf({ webhooks, prefix }: Pick<ResolvedOptions, 'webhooks' | 'prefix'>): string[] {
  const urls = webhooks.flatMap((destination) => destination.urls.map(hashUrl));
  if (prefix === undefined) return urls;
  return urls.length === 0 ? [hash(`${prefix} `)] : urls.map((url) => hash(`${prefix} ${url}`));
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
