import { createHash } from 'node:crypto';
import { forwardingId } from '../options/resolve-forwarding.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { hashUrl } from '../options/webhook-url.js';
import type { QueuedBatch } from './batch-job.js';

/** Marks of a message that is stored alone, which is small: as many as these, … */
const MOST_OF_MESSAGE = 4;
/** … and write keys among them. */
const MOST_KEYS = 2;

/** Whose a message that was stored is. `uncertain`: another application's, or this one's with another write key. */
export type Ownership = 'own' | 'uncertain' | 'other';

/**
 * Marks batches for configured destinations with the write key of their source and the URLs they are for. Another
 * application on the same database, even without a `prefix`, may well have a destination of the same name, such as the
 * default one, and must not send it what is not its own. An application changes a write key, or a URL, but hardly all of
 * them in one deploy.
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

  /** `undefined` for a destination at run time, whose id is unique, and for a custom one, which has no URL. */
  of({ destination, source }: Pick<QueuedBatch, 'destination' | 'source'>): string[] | undefined {
    const urls = this.urls.get(destination);
    if (urls === undefined) return undefined;
    const key = this.keys.get(source);
    return key === undefined ? [...urls] : [key, ...urls];
  }

  /**
   * Of a message that is stored before it is in a batch: the key of its source and of another one, since not all of them
   * change at once, and some of its application's places.
   */
  ofMessage(source: string): string[] {
    const key = this.keys.get(source);
    const keys = new Set(key === undefined ? [] : [key]);
    for (const other of this.ownKeys) if (keys.size < MOST_KEYS) keys.add(other);
    return [...keys, ...this.places].slice(0, MOST_OF_MESSAGE);
  }

  /** Whose a message that was stored is. Only a write key is certain: several applications may have one receiver. */
  ownershipOf({ marks }: Pick<QueuedBatch, 'marks'>): Ownership {
    if (marks === undefined) return 'own';
    if (marks.some((mark) => this.ownKeys.has(mark))) return 'own';
    return marks.some((mark) => this.places.has(mark)) ? 'uncertain' : 'other';
  }

  /** Whether a destination is in this process's options, and its batches are marked. */
  isConfigured(destination: string): boolean {
    return this.urls.has(destination);
  }

  /** Whether this application has queued a batch, or may have. */
  isOwn({ marks }: Pick<QueuedBatch, 'marks'>): boolean {
    return marks === undefined || marks.some((mark) => this.own.has(mark));
  }
}

/**
 * What an application keeps when its write keys change: its URLs and its `prefix`, which have to be the same together. The
 * URL of an `endpoint` tells nothing, since all that forward to it have it.
 */
function placesOf({ webhooks, prefix }: Pick<ResolvedOptions, 'webhooks' | 'prefix'>): string[] {
  const urls = webhooks.flatMap((destination) => destination.urls.map(hashUrl));
  if (prefix === undefined) return urls;
  return urls.length === 0 ? [hash(`${prefix} `)] : urls.map((url) => hash(`${prefix} ${url}`));
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
