import type { ClusterOptions, RedisOptions } from 'ioredis';
import type { ClusterNode } from '../../options/analytics-options.interface.js';
import { retryDelay, SOCKET_OPTIONS } from './redis-clients.js';

/** Milliseconds before retrying a command whose slot no node serves at the moment. */
const AGAIN_AFTER = 200;

const OWN_OPTIONS = {
  lazyConnect: false,
  enableOfflineQueue: true,
  enableReadyCheck: true,
  enableAutoPipelining: false,
  clusterRetryStrategy: retryDelay,
  // The client connects to a lost node again when the slots name it. A connection that retries by itself does not end
  // if it is disconnected between two attempts, and the client would wait for its end.
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

/** Returns the options of a cluster's client: the given ones, those in the URLs of its nodes, and our own. */
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
 * Returns what the URLs of the nodes say about TLS and the password, which then applies to all nodes. `ioredis` would
 * use no TLS at all, and a password only for the node whose URL has it.
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

/** Keeps a node's name, for which its certificate is issued. `ioredis` would connect to the address, and check that. */
function keepName(name: string, done: (error: null, address: string) => void): void {
  done(null, name);
}
