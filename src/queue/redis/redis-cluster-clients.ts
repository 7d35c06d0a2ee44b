import { types } from 'node:util';
import { ConnectionClosedError } from 'bullmq';
import type { Cluster, ClusterOptions, Redis } from 'ioredis';
import type { ResolvedCluster } from '../../options/resolved-options.js';
import { clusterOptionsOf } from './cluster-options.js';
import {
  end,
  gatherWrites,
  importRedis,
  letExit,
  type RedisClients,
  type RedisObserver,
} from './redis-clients.js';
import { readBeforeSilence } from './late-answers.js';
import { answerRefusedInfo } from './refused-info.js';

/**
 * How often the nodes are asked who has which slots, in milliseconds: a master that hangs does not say that
 * another one has taken its place.
 */
const REFRESH_INTERVAL = 3_000;
/** How `ioredis` tells of a connection that was closed, for whatever reason. */
const CLOSED = 'Connection is closed.';

/** Connects to a Redis Cluster with this module's own clients, as `openRedisClients` does to one server. */
export async function openClusterClients(
  { nodes: startupNodes, options }: ResolvedCluster,
  observer: RedisObserver,
): Promise<RedisClients<Cluster>> {
  const { Cluster: Base } = await importRedis();
  /** With the connections to nodes that have not ended. */
  const opened = new Map<Cluster, Set<Redis>>();
  /** The connections over which nodes are asked for the slots. */
  const asking = new Set<Redis>();
  let isClosed = false;

  class OwnCluster extends Base {
    override async connect(): Promise<void> {
      // The client would take the late end of a former connection for the end of the new one.
      for (const node of opened.get(this) ?? []) {
        if (isClosed) break;
        if (!this.nodes().includes(node)) await new Promise((resolve) => node.once('end', resolve));
      }
      if (isClosed) throw new ConnectionClosedError();
      await readyOrClosed(this, () => super.connect());
    }

    // As on a single server: between two connections there is no node whose end would end the client.
    override disconnect(reconnect = false): void {
      if (!reconnect && this.status === 'reconnecting') this.status = 'wait';
      super.disconnect(reconnect);
    }

    override handleError(...[error, ...others]: Parameters<Cluster['handleError']>): void {
      if (error.message.startsWith('CLUSTERDOWN')) observer.onDown(error);
      super.handleError(error, ...others);
    }
  }

  function open(given: ClusterOptions): Cluster {
    const one = new OwnCluster([...startupNodes], clusterOptionsOf(startupNodes, given));
    // Its type follows from the options of each call, which a method of a class cannot promise.
    Object.assign(one, {
      duplicate: (_nodes: unknown, override: ClusterOptions) => open({ ...one.options, ...override }),
    });
    const nodes = new Set<Redis>();
    opened.set(one, nodes);
    let refused: Error | undefined;
    one.on('+node', (node: Redis) => {
      gatherWrites(node);
      answerRefusedInfo(node);
      readBeforeSilence(node);
      watchAsking(node, asking, (error) => (refused = error));
      nodes.add(node);
      node.once('end', () => nodes.delete(node));
    });
    keepEnded(one);
    one.on('error', (error: Error) => {
      if (!isClosed) observer.onDown(reasonOf(error, refused));
    });
    // The configured nodes may be gone, and the loss of a replica does not matter.
    one.on('node error', (error: Error, address: string) => {
      if (!isClosed && one.status === 'ready' && isMaster(one, address)) observer.onDown(error);
    });
    one.on('ready', () => {
      refused = undefined;
      observer.onUp();
    });
    return one;
  }

  const client = open(options);
  client.on('+node', letExit);
  const refresh = setInterval(() => {
    for (const one of opened.keys()) if (one.status === 'ready') one.refreshSlotsCache();
  }, REFRESH_INTERVAL).unref();
  return {
    client,
    servers: () => client.nodes('master'),
    close: () => {
      isClosed = true;
      clearInterval(refresh);
      for (const one of opened.keys()) close(one);
      // A node that hangs would keep the process for as long as it is waited for.
      for (const one of asking) {
        one.disconnect();
        end(one.stream);
      }
    },
  };
}

/** Ends the sockets at once, and what waits for an answer. */
function close(one: Cluster): void {
  const nodes = one.nodes();
  // Without any node it would leave its commands waiting. Only one that never connected ends at once.
  if (nodes.length === 0) one.status = 'wait';
  one.disconnect();
  for (const { stream } of nodes) end(stream);
}

/**
 * A connection to a node that ends late would make the cluster seem to be closing, and keep the next connect
 * waiting.
 */
function keepEnded(one: Cluster): void {
  let hasEnded = false;
  one.on('connecting', () => {
    hasEnded = false;
  });
  one.on('end', () => {
    hasEnded = true;
  });
  one.on('close', () => {
    if (hasEnded) one.status = 'end';
  });
}

/**
 * Connects, and rejects as well where the nodes tell who has which slots, but the cluster does not serve them. The
 * client closes the connection then and connects again by itself, but leaves the promise of this `connect` pending,
 * and BullMQ's worker would wait for it for ever.
 */
function readyOrClosed(one: Cluster, connect: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = (): void => {
      reject(new ConnectionClosedError());
    };
    const onConnect = (): void => {
      one.once('close', onClose);
    };
    one.once('connect', onConnect);
    void connect()
      .then(resolve, reject)
      .finally(() => one.off('connect', onConnect).off('close', onClose));
  });
}

function isMaster(one: Cluster, address: string): boolean {
  return one.nodes('master').some(({ options: { host, port } }) => `${host}:${port}` === address);
}

/**
 * Knows the connections over which a node is asked for the slots, and learns why it lets nobody connect: `ioredis` drops
 * their errors.
 */
function watchAsking(node: Redis, asking: Set<Redis>, onRefused: (error: Error) => void): void {
  const duplicate = node.duplicate.bind(node);
  node.duplicate = (override) => {
    const one = duplicate(override).on('error', onRefused);
    asking.add(one);
    return one.once('end', () => asking.delete(one));
  };
}

/**
 * Why no node could be asked, as far as it is known.
 *
 * @param refused why the last of them that let nobody connect did not
 */
function reasonOf(error: Error, refused: Error | undefined): Error {
  if (!('lastNodeError' in error) || !types.isNativeError(error.lastNodeError)) return error;
  const { lastNodeError } = error;
  return lastNodeError.message === CLOSED && refused !== undefined ? refused : lastNodeError;
}
