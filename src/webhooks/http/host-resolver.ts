import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { types } from 'node:util';
import { NameLookupBusyError, NameLookupError } from '../../errors/delivery.errors.js';
import { within } from '../../shared/within.js';
import { DnsClient, LOOKUP_TIME, type NameAnswer } from './dns-client.js';
import { HostsFile, systemHostsFile } from './hosts-file.js';
import { LookupSlots } from './lookup-slots.js';
import { NameCache, type NameLookup } from './name-cache.js';
import { isOwnLack, webhookErrorCode } from './webhook-error-code.js';

/** How many names are looked up in DNS at once. Each look-up takes a socket until its server answers. */
const MAX_QUERIES = 256;

/**
 * How many of these look-ups may be for names whose last look-up was slow, and from how many milliseconds on a look-up
 * counts as slow. Customers choose the names, and a name's own servers decide how long a look-up takes.
 */
const MAX_SLOW_QUERIES = 128;
const SLOW = 1_000;

/**
 * How many names the system looks up for this module at once. By default it has two threads for that, and one
 * of them belongs to the application.
 */
const MAX_SYSTEM_LOOKUPS = 1;

/**
 * After a slow look-up by the system that made quick names wait, slow names wait for this many times as long. Otherwise
 * names that hang would have all of the system's time. The limit, in milliseconds, is for a process that stood still.
 */
const SYSTEM_REST = 3;
const MAX_SYSTEM_REST = 60_000;

/** How long a name waits for its turn, in milliseconds. */
const PATIENCE = 2_000;

/** How long an answer of the system is cached, in milliseconds. It comes without a TTL. */
const SYSTEM_TTL = 10_000;

export interface HostResolverOptions {
  /** DNS servers, with a port if it is not 53. @default those of the system */
  servers?: readonly string[];
  /** @default the system's */
  hostsFile?: string;
  /** How the system itself resolves a name. @default `dns.lookup` */
  systemLookup?: (name: string) => Promise<LookupAddress[]>;
}

/**
 * Looks a name up for a socket.
 *
 * @param onLookup called with the look-up that the addresses will come from, and again if another look-up follows
 */
export type HostLookup = (
  ...args: [...Parameters<LookupFunction>, onLookup?: (lookup: NameLookup) => void]
) => void;

/**
 * Resolves the names of receivers: by the hosts file, then by DNS. For receivers in private networks, names
 * that DNS does not know are resolved as the system does (search domains, names of containers, mDNS).
 * Whatever the servers do, the application's own look-ups go on: see `DnsClient`.
 */
export class HostResolver {
  private readonly hosts: HostsFile;
  private readonly client: DnsClient;
  private readonly systemLookup: (name: string) => Promise<LookupAddress[]>;
  private readonly querySlots = new LookupSlots(MAX_QUERIES, PATIENCE);
  private readonly slowSlots = new LookupSlots(MAX_SLOW_QUERIES, PATIENCE);
  private readonly systemSlots = new LookupSlots(MAX_SYSTEM_LOOKUPS, PATIENCE);
  /** Time from which the system may be asked for slow names again, by `performance.now()`. */
  private slowSystemAt = -Infinity;
  /** Time at which the system was last wanted for a name that is not slow, by the same clock. */
  private quickWantedAt = -Infinity;
  private readonly dnsNames: NameCache;
  private readonly systemNames: NameCache;

  constructor(options: HostResolverOptions = {}) {
    this.hosts = new HostsFile(options.hostsFile ?? systemHostsFile());
    this.client = new DnsClient(options.servers);
    this.systemLookup =
      options.systemLookup ?? ((name) => systemLookup(name, { all: true, order: 'ipv4first' }));
    this.dnsNames = new NameCache((lookup) => {
      const ask = (): Promise<NameAnswer> => this.querySlots.run(() => this.askServers(lookup));
      return lookup.wasSlow ? this.slowSlots.run(ask) : ask();
    });
    this.systemNames = new NameCache((lookup) => this.askSystem(lookup));
  }

  /** Returns a look-up for sockets. Names of public receivers are in DNS, so the system is not asked for them. */
  lookupFor({ allowPrivateNetwork }: { allowPrivateNetwork: boolean }): HostLookup {
    return (name, { family, all }, callback, onLookup) => {
      const isWanted = wantedFamily(family);
      this.resolve(name, allowPrivateNetwork, onLookup).then(
        (found) => {
          const addresses = found.filter(isWanted);
          const [first] = addresses;
          if (first === undefined) callback(new NameLookupError('unknown'), []);
          else if (all === true) callback(null, addresses);
          else callback(null, first.address, first.family);
        },
        (error: unknown) => {
          callback(types.isNativeError(error) ? error : new NameLookupError('failed'), []);
        },
      );
    };
  }

  /** Ends all running look-ups. */
  close(): void {
    this.client.close();
  }

  private async resolve(
    name: string,
    usesSystem: boolean,
    onLookup?: (lookup: NameLookup) => void,
  ): Promise<readonly LookupAddress[]> {
    const family = isIP(name);
    if (family !== 0) return [{ address: name, family }];
    const listed = this.hosts.find(name);
    if (listed !== undefined) return listed;
    try {
      return await this.dnsNames.find(name, onLookup);
    } catch (error) {
      const reason = error instanceof NameLookupError ? error.reason : undefined;
      // If no DNS server can be reached, the system may have other ways.
      if (reason === 'unreachable' || (reason === 'unknown' && usesSystem))
        return this.systemNames.find(name, onLookup);
      throw error;
    }
  }

  private async askServers(lookup: NameLookup): Promise<NameAnswer> {
    const begun = performance.now();
    lookup.begun = begun;
    try {
      return await this.client.resolve(lookup.name);
    } finally {
      lookup.wasSlow = performance.now() - begun >= SLOW;
    }
  }

  /** Asks the system. Its look-up cannot be cancelled, and keeps its slot to its end, even if nobody waits any more. */
  private async askSystem(lookup: NameLookup): Promise<NameAnswer> {
    if (!lookup.wasSlow) this.quickWantedAt = lookup.wantedAt;
    const addresses = await within(
      LOOKUP_TIME,
      this.systemSlots.run(() => this.lookUpBySystem(lookup)),
    );
    if (addresses === undefined) {
      lookup.wasSlow = true;
      lookup.failure = new NameLookupError('timeout');
      throw lookup.failure;
    }
    return { addresses, ttl: SYSTEM_TTL };
  }

  private async lookUpBySystem(lookup: NameLookup): Promise<LookupAddress[]> {
    const begun = performance.now();
    if (lookup.wasSlow && begun < this.slowSystemAt) throw lookup.failure ?? new NameLookupBusyError();
    lookup.begun = begun;
    try {
      const addresses = await this.systemLookup(lookup.name);
      lookup.failure = undefined;
      return addresses;
    } catch (error) {
      if (types.isNativeError(error) && isOwnLack(webhookErrorCode(error))) throw error;
      lookup.failure = new NameLookupError('unknown');
      throw lookup.failure;
    } finally {
      const now = performance.now();
      lookup.wasSlow = now - begun >= SLOW;
      if (lookup.wasSlow && this.quickWantedAt > begun)
        this.slowSystemAt = now + Math.min(SYSTEM_REST * (now - begun), MAX_SYSTEM_REST);
    }
  }
}

function wantedFamily(family: number | 'IPv4' | 'IPv6' | undefined): (address: LookupAddress) => boolean {
  const only = family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : (family ?? 0);
  return (address) => only === 0 || address.family === only;
}
