import type { DestinationRecord, DestinationSecrets } from '../options/destination-store.js';
import type { DestinationDetails } from './destinations.types.js';

/** Returns what callers may see of a destination. @param secrets `undefined` if they cannot be decrypted */
export function detailsOf(
  record: DestinationRecord,
  secrets: DestinationSecrets | undefined,
): DestinationDetails {
  const { id, tenant, name, description, urls, events, types, sources, timeout, metadata } = record;
  const { retryWindow, retryStatuses, rateLimit, enabled = true, disabledReason } = record;
  const { createdAt = 0, updatedAt = 0, version = 0 } = record;
  return {
    id,
    tenant,
    name,
    description,
    urls,
    headers: secrets && Object.keys(secrets.headers ?? {}),
    signatures: secrets && [
      ...(secrets.sharedSecret === undefined ? [] : (['X-Signature'] as const)),
      ...(secrets.standardWebhooks === undefined ? [] : (['webhook-signature'] as const)),
    ],
    events,
    types,
    sources,
    timeout,
    retryWindow,
    retryStatuses,
    rateLimit,
    metadata,
    enabled,
    readOnly: false,
    disabledReason,
    createdAt,
    updatedAt,
    version,
  };
}
