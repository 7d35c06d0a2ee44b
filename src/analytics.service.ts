import type { AnalyticsClient } from './client/analytics-client.js';
import type { FlushOptions, FlushResult } from './client/flush-result.js';
import type { SourceUsage } from './client/source-usage.js';
import { UnknownSourceError } from './errors/unknown-source.error.js';
import type {
  AliasParams,
  DeleteParams,
  GroupParams,
  IdentifyParams,
  PageParams,
  ScreenParams,
  TrackParams,
} from './messages/message-params.types.js';
import { unexpected } from './messages/message-checks.js';
import { isJsonObject } from './messages/value-kind.js';

/** What a deletion takes. */
export type DeletionParams = DeleteParams & {
  /** Names of the sources to delete the user from. @default all that a destination is connected to */
  sources?: readonly string[] | undefined;
};

/**
 * The analytics client. Each call checks what it is given, takes a snapshot of it, and returns the
 * messageId at once: it never makes a request itself. What it took is batched, queued, and delivered.
 *
 * Every call throws `InvalidMessageError` for input that cannot be sent, `MessageTooLargeError` above
 * 32 KB, and `AnalyticsClosedError` after the application has shut down. A full buffer does not throw:
 * the message is counted as refused, which `flush()` tells.
 */
export class AnalyticsService {
  /**
   * @param sources names of the sources of this application
   * @param boundTo the source to speak for; the first one, when none is named
   */
  constructor(
    private readonly client: AnalyticsClient,
    private readonly sources: readonly [string, ...string[]],
    private readonly boundTo?: string,
  ) {}

  /** Ties a user to traits: once when the account is created, and again when traits change. */
  identify(params: IdentifyParams): string {
    return this.client.take(this.name, 'identify', params);
  }

  /** Records what a user did. */
  track(params: TrackParams): string {
    return this.client.take(this.name, 'track', params);
  }

  /** Records a page view; `traits` is another name for `properties`, which wins. */
  page(params: PageParams): string {
    return this.client.take(this.name, 'page', params);
  }

  /** Records a screen view of a mobile app. */
  screen(params: ScreenParams): string {
    return this.client.take(this.name, 'screen', params);
  }

  /** Associates a user with a group (a company, an account, a team) and records the group's traits. */
  group(params: GroupParams): string {
    return this.client.take(this.name, 'group', params);
  }

  /** Links an identity to another: `previousId` is the old one, mostly the anonymous id. */
  alias(params: AliasParams): string {
    return this.client.take(this.name, 'alias', params);
  }

  /**
   * Requests the deletion of a user: one notification for each source that a destination is connected
   * to, or for each of the `sources` given. Each has a messageId of its own; the first is returned. A service
   * that is bound to a source by `source(name)` speaks of that source alone.
   *
   * @throws UnknownSourceError
   */
  delete(params: DeletionParams): string {
    return this.client.takeDeletion(this.sourcesOf(params), params);
  }

  /** What this source has taken in this process since it was started: its `schema` filters part of it. */
  usage(): SourceUsage {
    return this.client.usageOf(this.name);
  }

  /**
   * Waits until all that was taken before the call is in the queue, and tells what became of it. Calls
   * may overlap. Without a timeout it waits for as long as the queue cannot be reached.
   */
  flush(options?: FlushOptions): Promise<FlushResult> {
    return this.client.flush(options);
  }

  /**
   * The same client, bound to another source.
   *
   * @throws UnknownSourceError
   */
  source(name: string): AnalyticsService {
    if (!this.sources.includes(name)) throw new UnknownSourceError(name, this.sources);
    return new AnalyticsService(this.client, this.sources, name);
  }

  private sourcesOf(params: DeletionParams): readonly [string, ...string[]] {
    // JavaScript may call with anything: what is no object is told of with the other fields.
    const given: unknown = isJsonObject(params) ? params.sources : undefined;
    if (given === undefined) return this.boundTo === undefined ? this.sources : [this.boundTo];
    const [first, ...rest] = isList(given) ? given : [];
    if (first === undefined) throw unexpected('sources', 'an array of at least one name of a source', given);
    return [this.affected(first), ...rest.map((name) => this.affected(name))];
  }

  private affected(source: unknown): string {
    const known = this.boundTo === undefined ? this.sources : [this.boundTo];
    const name = known.find((one) => one === source);
    if (name === undefined) throw new UnknownSourceError(String(source), known);
    return name;
  }

  private get name(): string {
    return this.boundTo ?? this.sources[0];
  }
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}
