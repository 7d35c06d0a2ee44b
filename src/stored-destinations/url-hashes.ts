import type { DestinationRecord } from '../options/destination-store.js';
import { hashUrl } from '../options/webhook-url.js';

/** The hashes of a destination's URLs, as outcomes name them. Those in a store of the application's own may be wrong. */
export function urlHashes({ urls }: Pick<DestinationRecord, 'urls'>): string[] {
  return urls.filter((url) => URL.canParse(url)).map((url) => hashUrl(new URL(url)));
}
