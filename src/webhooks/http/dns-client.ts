import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { closeSync, openSync } from 'node:fs';
import { isIP } from 'node:net';
import { devNull } from 'node:os';
import { types } from 'node:util';
import { NameLookupError, type NameLookupReason } from '../../errors/delivery.errors.js';
import { isOwnLack, webhookErrorCode } from './webhook-error-code.js';

/**
 * How long a server has to answer the first query, in milliseconds. It is asked twice more, with twice the time each.
 */
const FIRST_WAIT = 1_000;
const TRIES = 3;

/** Longest look-up of a name, in milliseconds: a little less than the default timeout of a request. */
export const LOOKUP_TIME = 4_500;

/** How long to wait for IPv6 addresses once the IPv4 ones are there: some servers never answer for IPv6. */
const IPV6_GRACE = 250;

/** Interval at which a look-up checks whether the process stood still, in milliseconds. */
const TICK = 500;

/** DNS records of a name. */
export interface NameAnswer {
  addresses: LookupAddress[];
  /** Milliseconds for which the records are valid. */
  ttl: number;
}

/**
 * Asks the DNS servers with c-ares, on sockets. `dns.lookup` would block one of the process's few threads for
 * as long as a server does not answer, and two such names would stop every look-up of the application.
 *
 * Each name gets a resolver of its own. A shared resolver learns how fast its servers usually answer, and soon
 * gives up on every name that takes longer. A new resolver also reads which servers the system has now.
 */
export class DnsClient {
  private readonly active = new Set<Resolver>();
  private isClosed = false;

  /** @param servers addresses, with a port if it is not 53; by default those of the system */
  constructor(private readonly servers: readonly string[] | undefined) {}

  /** @throws {NameLookupError} if there is no address; or the system's error if this process has no file handle left */
  async resolve(name: string): Promise<NameAnswer> {
    let latest = performance.now();
    let stoodStillUntil = -Infinity;
    const tick = (): void => {
      const now = performance.now();
      if (now - latest >= TICK + FIRST_WAIT) stoodStillUntil = now;
      latest = now;
    };
    const ticks = setInterval(tick, TICK).unref();
    try {
      return await this.ask(name);
    } catch (error) {
      tick();
      // If the process stood still until just now, timers fired before the sockets were read. The answer may be there.
      const stoodStill = latest - stoodStillUntil < TICK;
      if (!stoodStill || this.isClosed || !isTimeout(error)) throw error;
      return await this.ask(name);
    } finally {
      clearInterval(ticks);
    }
  }

  /** Ends all running look-ups. */
  close(): void {
    this.isClosed = true;
    for (const resolver of this.active) resolver.cancel();
  }

  private async ask(name: string): Promise<NameAnswer> {
    const resolver = new Resolver({ timeout: FIRST_WAIT, tries: TRIES });
    if (this.servers !== undefined) resolver.setServers(this.servers);
    const cancel = (): void => {
      resolver.cancel();
    };
    let timer = setTimeout(cancel, LOOKUP_TIME);
    this.active.add(resolver);
    try {
      const ipv4 = resolver.resolve4(name, { ttl: true }).then((records) => {
        clearTimeout(timer);
        timer = setTimeout(cancel, IPV6_GRACE);
        return records;
      });
      const answers = await Promise.allSettled([ipv4, resolver.resolve6(name, { ttl: true })]);
      const records = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (records.length === 0) throw failureOf(name, answers);
      return {
        addresses: records.map(({ address }) => ({ address, family: isIP(address) })),
        // Node reports the TTL of the first 256 records only.
        ttl: Math.min(...records.map(({ ttl }) => ttl).filter(Number.isFinite)) * 1_000,
      };
    } finally {
      clearTimeout(timer);
      this.active.delete(resolver);
    }
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof NameLookupError && error.reason === 'timeout';
}

/** Returns the error of a look-up. c-ares also reports its servers as unreachable if it has no file handle left. */
function failureOf(name: string, answers: readonly PromiseSettledResult<unknown>[]): Error {
  const reason = reasonOf(name, answers);
  const lack = reason === 'unreachable' ? lackOfHandles() : undefined;
  return lack ?? new NameLookupError(reason);
}

/** Returns the error of the system if this process cannot open anything now. */
function lackOfHandles(): Error | undefined {
  try {
    closeSync(openSync(devNull, 'r'));
  } catch (error) {
    if (types.isNativeError(error) && isOwnLack(webhookErrorCode(error))) return error;
  }
  return undefined;
}

function reasonOf(name: string, answers: readonly PromiseSettledResult<unknown>[]): NameLookupReason {
  const codes = answers.map((answer) => (answer.status === 'rejected' ? codeOf(answer.reason) : ''));
  if (codes.every((code) => code === 'ENOTFOUND' || code === 'ENODATA')) return 'unknown';
  if (codes.includes('ECONNREFUSED')) return 'unreachable';
  if (codes.includes('ETIMEOUT') || codes.includes('ECANCELLED')) return 'timeout';
  // Public DNS servers refuse a name without a dot, which a private network may know.
  return name.includes('.') ? 'failed' : 'unknown';
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
