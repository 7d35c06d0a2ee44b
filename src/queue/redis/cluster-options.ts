import type { ClusterOptions, RedisOptions } from 'ioredis';
import type { ClusterNode } from '../../options/analytics-options.interface.js';
import { retryDelay, SOCKET_OPTIONS } from './redis-clients.js';

/** The pause before a command is tried again whose slot no node serves at the moment, in milliseconds. */
const AGAIN_AFTER = 200;

const OWN_OPTIONS = {
  lazyConnect: false,
  enableOfflineQueue: true,
  enableReadyCheck: true,
  enableAutoPipelining: false,
  clusterRetryStrategy: retryDelay,
  // A node that went away is connected to again when the slots name it. One that retries by itself does not end where
  // it is disconnected between two connections, and the client would wait for that.
  clusterNodeRetryStrategy: undefined,
  // A replica may not have yet what its master has acknowledged.
  scaleReads: 'master',
  // As on a single server, a command waits for its slot to be served again instead of failing.
  maxRedirections: Infinity,
  retryDelayOnFailover: AGAIN_AFTER,
  retryDelayOnClusterDown: AGAIN_AFTER,
  retryDelayOnTryAgain: AGAIN_AFTER,
  // Its timer would keep the process alive.
  slotsRefreshInterval: 0,
} satisfies ClusterOptions;

type OwnClusterOptions = ClusterOptions & { redisOptions: typeof SOCKET_OPTIONS };

/** The options of a cluster's client: those that were given, what the URLs of its nodes say, and our own. */
export function clusterOptionsOf(nodes: readonly ClusterNode[], given: ClusterOptions): OwnClusterOptions {
  const redisOptions = { ...optionsInUrls(nodes), ...given.redisOptions, ...SOCKET_OPTIONS };
  return {
    ...(redisOptions.tls !== undefined && { dnsLookup: keepName }),
    ...given,
    ...OWN_OPTIONS,
    redisOptions,
  };
}

/**
 * What the URLs of some nodes say about TLS and the password goes for all nodes. `ioredis` would use no TLS at
 * all, and the password for that node alone.
 */
function optionsInUrls(nodes: readonly ClusterNode[]): Pick<RedisOptions, 'tls' | 'username' | 'password'> {
  const urls = nodes.filter(isUrl).map((node) => new URL(node));
  const withPassword = urls.find(({ password }) => password !== '');
  return {
    ...(urls.some(({ protocol }) => protocol === 'rediss:') && { tls: {} }),
    ...(withPassword && {
      username: decodeURIComponent(withPassword.username),
      password: decodeURIComponent(withPassword.password),
    }),
  };
}

function isUrl(node: ClusterNode): node is string {
  return typeof node === 'string' && /^rediss?:/i.test(node);
}

/** A certificate is issued for the name of a node. `ioredis` would connect to its address, and check that. */
function keepName(name: string, done: (error: null, address: string) => void): void {
  done(null, name);
}
