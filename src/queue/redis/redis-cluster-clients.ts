import { types } from 'node:util';
import { ConnectionClosedError } from 'bullmq';
import type { Cluster, ClusterOptions, Redis } from 'ioredis';
import type { ResolvedCluster } from '../../options/resolved-options.js';
import { preferAnsweringNode } from './answering-node.js';
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
 * Milliseconds between two refreshes of the slots. A master that hangs does not say that another has taken its place.
 */
const REFRESH_INTERVAL = 3_000;
/** Message of `ioredis` about a connection that was closed, for whatever reason. */
const CLOSED = 'Connection is closed.';

/** Connects to a Redis Cluster with this module's own clients, as `openRedisClients` does to one server. */
export async function openClusterClients(
  { nodes: startupNodes, options }: ResolvedCluster,
  observer: RedisObserver,
): Promise<RedisClients<Cluster>> {
  const { Cluster: Base } = await importRedis();
  /** The clients, each with its connections to nodes that have not ended. */
  const opened = new Map<Cluster, Set<Redis>>();
  /** The connections over which nodes are asked for the slots. */
  const asking = new Set<Redis>();
  let isClosed = false;

  class OwnCluster extends Base {
    override async connect(): Promise<void> {
      // Waits for former connections to end: the client would take their late end for the end of the new one.
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
    // Assigned, because its type follows from the options of each call, which a method of a class cannot promise.
    Object.assign(one, {
      duplicate: (_nodes: unknown, override: ClusterOptions) => open({ ...one.options, ...override }),
    });
    const nodes = new Set<Redis>();
    opened.set(one, nodes);
    let refused: Error | undefined;
    const onAsked = preferAnsweringNode(one);
    one.on('+node', (node: Redis) => {
      gatherWrites(node);
      answerRefusedInfo(node);
      readBeforeSilence(node);
      watchAsking(node, asking, { onAsked, onRefused: (error) => (refused = error) });
      nodes.add(node);
      node.once('end', () => nodes.delete(node));
    });
    keepEnded(one);
    one.on('error', (error: Error) => {
      if (!isClosed) observer.onDown(reasonOf(error, refused));
    });
    // Only a lost master matters: the configured nodes may be gone, and a replica is not needed.
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
      // Waiting for a node that hangs would keep the process alive.
      for (const one of asking) {
        one.disconnect();
        end(one.stream);
      }
    },
  };
}

/** Ends the sockets of a client at once, and whatever waits for an answer. */
function close(one: Cluster): void {
  const nodes = one.nodes();
  // Without any node, the client would leave its commands waiting. Only a client that never connected ends at once.
  if (nodes.length === 0) one.status = 'wait';
  one.disconnect();
  for (const { stream } of nodes) end(stream);
}

/**
 * Keeps the status of a client that has ended. A node connection that ends later would make the client seem to be
 * closing, and keep the next connect waiting.
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
 * Connects, and also rejects if the nodes report the slots, but the cluster does not serve them. The client then closes
 * the connection and reconnects by itself, but leaves the promise of this `connect` pending, and BullMQ's worker would
 * wait for it for ever.
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
 * Collects the connections over which a node is asked for the slots, and reports why the node refuses them: `ioredis`
 * drops their errors.
 */
function watchAsking(
  node: Redis,
  asking: Set<Redis>,
  { onAsked, onRefused }: { onAsked: (node: Redis) => void; onRefused: (error: Error) => void },
): void {
  const duplicate = node.duplicate.bind(node);
  node.duplicate = (override) => {
    onAsked(node);
    const one = duplicate(override).on('error', onRefused);
    asking.add(one);
    return one.once('end', () => asking.delete(one));
  };
}

/**
 * Returns the reason why no node could be asked, as far as it is known.
 *
 * @param refused error of the last node that refused a connection
 */
function reasonOf(error: Error, refused: Error | undefined): Error {
  if (!('lastNodeError' in error) || !types.isNativeError(error.lastNodeError)) return error;
  const { lastNodeError } = error;
  return lastNodeError.message === CLOSED && refused !== undefined ? refused : lastNodeError;
}
