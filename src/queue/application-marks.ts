import { createHash } from 'node:crypto';
import { forwardingId } from '../options/resolve-forwarding.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { hashUrl } from '../options/webhook-url.js';
import type { QueuedBatch } from './batch-job.js';

/** Marks of a message that is stored alone, which is small. */
const MOST_OF_MESSAGE = 4;

/**
 * Marks batches for configured destinations with the write key of their source and the URLs they are for. Another
 * application on the same database, also without a `prefix`, may well have a destination of the same name, such as the
 * default one, and must not send it what is not its own. An application changes a write key, or a URL, but hardly all of
 * them in one deploy.
 */
export class ApplicationMarks {
  private readonly keys: ReadonlyMap<string, string>;
  private readonly urls: ReadonlyMap<string, readonly string[]>;
  private readonly own: ReadonlySet<string>;

  constructor({
    sources,
    webhooks,
    forwarding,
  }: Pick<ResolvedOptions, 'sources' | 'webhooks' | 'forwarding'>) {
    this.keys = new Map(sources.map(({ name, writeKey }) => [name, hashKey(writeKey)]));
    this.urls = new Map(
      forwarding === undefined
        ? webhooks.map(({ id, urls }) => [id, urls.map(hashUrl)])
        : sources.map(({ name }) => [forwardingId(name), [hashUrl(forwarding.url)]]),
    );
    this.own = new Set([...this.keys.values(), ...[...this.urls.values()].flat()]);
  }

  /** `undefined` for a destination at run time, whose id is unique, and for a custom one, which has no URL. */
  of({ destination, source }: Pick<QueuedBatch, 'destination' | 'source'>): string[] | undefined {
    const urls = this.urls.get(destination);
    if (urls === undefined) return undefined;
    const key = this.keys.get(source);
    return key === undefined ? [...urls] : [key, ...urls];
  }

  /** Of a message that is stored before it is in a batch: the key of its source, and some of the application's URLs. */
  ofMessage(source: string): string[] {
    const key = this.keys.get(source);
    const urls = [...this.urls.values()].flat();
    return [...new Set(key === undefined ? urls : [key, ...urls])].slice(0, MOST_OF_MESSAGE);
  }

  /** Whether a destination is in this process's options, and its batches are marked. */
  isConfigured(destination: string): boolean {
    return this.urls.has(destination);
  }

  /** Whether this application has queued a batch, or may have. The same for a message that was stored. */
  isOwn({ marks }: Pick<QueuedBatch, 'marks'>): boolean {
    return marks === undefined || marks.some((mark) => this.own.has(mark));
  }
}

function hashKey(writeKey: string): string {
  return createHash('sha256').update(writeKey).digest('hex').slice(0, 16);
}
