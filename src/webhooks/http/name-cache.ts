import type { LookupAddress } from 'node:dns';
import { NameLookupError } from '../../errors/delivery.errors.js';
import type { NameAnswer } from './dns-client.js';

/** Limits of how long an answer is cached, in milliseconds, whatever its server says. */
const MIN_AGE = 1_000;
const MAX_AGE = 60_000;

/** How long a failure to resolve a name is cached, in milliseconds. */
const FAILURE_AGE = 2_000;

const MAX_NAMES = 10_000;

/**
 * How many addresses of a name are kept. A customer's name may have thousands, and each new connection goes through
 * all of them.
 */
const MAX_ADDRESSES = 8;

interface KnownName {
  addresses: Promise<LookupAddress[]>;
  /** Time at which to look the name up again; `Infinity` during a look-up. */
  until: number;
  lookup: NameLookup;
}

/** A look-up of a name that is not cached, or whose cached answer has expired. */
export interface NameLookup {
  readonly name: string;
  /** Whether the previous look-up of the name was slow. Whoever makes this look-up sets the new value. */
  wasSlow: boolean;
  /** Why the previous look-up by the system found nothing, set likewise. */
  failure: NameLookupError | undefined;
  /** Time at which the look-up was wanted, by `performance.now()`. */
  readonly wantedAt: number;
  /** Time at which it began, by the same clock; `undefined` while it waits for its turn. */
  begun: number | undefined;
}

/** Caches the addresses of names for a short while. Concurrent requests for a name share one look-up. */
export class NameCache {
  private readonly names = new Map<string, KnownName>();

  constructor(private readonly resolve: (lookup: NameLookup) => Promise<NameAnswer>) {}

  /** @param onLookup called with the look-up that the addresses are from */
  find(name: string, onLookup?: (lookup: NameLookup) => void): Promise<LookupAddress[]> {
    const known = this.names.get(name);
    const now = performance.now();
    const { addresses, lookup } =
      known !== undefined && known.until > now ? known : this.lookUp(lookupAfter(known?.lookup, name, now));
    onLookup?.(lookup);
    return addresses;
  }

  private lookUp(lookup: NameLookup): KnownName {
    const { name } = lookup;
    const answer = this.resolve(lookup);
    const addresses = answer.then((found) => kept(found.addresses));
    const known: KnownName = { addresses, until: Infinity, lookup };
    this.names.delete(name);
    this.names.set(name, known);
    const [oldest] = this.names.keys();
    if (this.names.size > MAX_NAMES && oldest !== undefined) this.names.delete(oldest);
    answer.then(
      ({ ttl }) => {
        known.until = performance.now() + Math.min(Math.max(ttl, MIN_AGE), MAX_AGE);
      },
      (error: unknown) => {
        // A name that was not even looked up may be tried again at once.
        const age = error instanceof NameLookupError ? FAILURE_AGE : 0;
        known.until = performance.now() + age;
      },
    );
    return known;
  }
}

function lookupAfter(last: NameLookup | undefined, name: string, wantedAt: number): NameLookup {
  const { wasSlow = false, failure } = last ?? {};
  return { name, wasSlow, failure, wantedAt, begun: undefined };
}

/** Keeps half of each family, if there are enough: a receiver may be reachable over only one family. */
function kept(addresses: LookupAddress[]): LookupAddress[] {
  if (addresses.length <= MAX_ADDRESSES) return addresses;
  const ipv6 = addresses.filter(({ family }) => family === 6);
  const room = Math.max(MAX_ADDRESSES / 2, MAX_ADDRESSES - ipv6.length);
  const ipv4 = addresses.filter(({ family }) => family !== 6).slice(0, room);
  return [...ipv4, ...ipv6.slice(0, MAX_ADDRESSES - ipv4.length)];
}
