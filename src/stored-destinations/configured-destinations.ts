import type { ResolvedCustomDestination } from '../options/resolve-custom-destinations.js';
import type { ResolvedOptions, ResolvedWebhooks } from '../options/resolved-options.js';
import type { DestinationDetails } from './destinations.types.js';

export interface ConfiguredDestinationsParts {
  webhooks: ResolvedOptions['webhooks'];
  custom: {
    /** `undefined` until Nest has instantiated the destinations that are classes. */
    readonly known: readonly ResolvedCustomDestination[] | undefined;
  };
  /** Names of all sources. */
  sources: readonly string[];
}

/** Details of the destinations that are configured in code, as callers may see them. */
export class ConfiguredDestinations {
  constructor(private readonly parts: ConfiguredDestinationsParts) {}

  /** In the order of the options: first `webhooks`, then `customDestinations`. */
  get all(): DestinationDetails[] {
    const { webhooks, custom } = this.parts;
    return [
      ...webhooks.map((options) => this.webhooksDetails(options)),
      ...(custom.known ?? []).map((options) => this.detailsOf(options)),
    ];
  }

  find(id: string): DestinationDetails | undefined {
    return this.all.find((details) => details.id === id);
  }

  private webhooksDetails(options: ResolvedWebhooks): DestinationDetails {
    const { urls, headers, sharedSecret, standardWebhooks, retryStatuses, rateLimit } = options;
    return {
      ...this.detailsOf({ ...options, name: undefined }),
      // The path of a URL may be a secret from the environment.
      urls: urls.map(({ origin }) => origin),
      headers: Object.keys(headers),
      signatures: [
        ...(sharedSecret === undefined ? [] : (['X-Signature'] as const)),
        ...(standardWebhooks === undefined ? [] : (['webhook-signature'] as const)),
      ],
      retryStatuses,
      rateLimit,
    };
  }

  private detailsOf({ id, name, enabled, sources, timeout, retryWindow }: Configured): DestinationDetails {
    return {
      id,
      tenant: undefined,
      name,
      description: undefined,
      urls: [],
      headers: [],
      signatures: [],
      events: undefined,
      types: undefined,
      sources: sources.length === this.parts.sources.length ? undefined : sources,
      timeout,
      retryWindow,
      retryStatuses: undefined,
      rateLimit: undefined,
      metadata: undefined,
      enabled,
      readOnly: true,
      disabledReason: undefined,
      createdAt: 0,
      updatedAt: 0,
      version: 0,
    };
  }
}

type Configured = Pick<ResolvedWebhooks, 'id' | 'enabled' | 'sources' | 'timeout' | 'retryWindow'> & {
  name: string | undefined;
};
