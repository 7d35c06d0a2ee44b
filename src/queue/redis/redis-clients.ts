import { ConnectionClosedError, type ConnectionOptions } from 'bullmq';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { MissingPackageError } from '../../errors/setup.errors.js';
import { isSilence, readBeforeSilence } from './late-answers.js';
import { isRightMissing } from './needed-rights.js';
import { answerRefusedInfo } from './refused-info.js';

/**
 * Milliseconds that a command waits without any answer before its connection is closed and opened again. BullMQ's
 * workers block for ten seconds at most.
 */
const SILENCE_TIMEOUT = 12_000;

/** Returns the milliseconds before the next attempt to connect. */
export const retryDelay = (times: number): number => Math.min(100 * 2 ** times, 2_000);

/** Options of each connection, to a single server or to a node of a cluster. */
export const SOCKET_OPTIONS = {
  // BullMQ requires this: a command waits for the server to come back instead of failing.
  maxRetriesPerRequest: null,
  // The shape of replies that BullMQ reads, whatever the host application configured.
  replyMapping: 'legacy',
  stringNumbers: false,
  // A client that disconnects waits this long for its socket to end, even for a socket that ended long ago,
  // and keeps the process alive meanwhile. A client that connects again repeats what was not answered.
  disconnectTimeout: 0,
  socketTimeout: SILENCE_TIMEOUT,
  // A timeout would end a worker's wait for a job too early, and lose the server's answer if it comes after that.
  commandTimeout: undefined,
  // The rest of a pipeline is not sent again after its connection breaks.
  enableAutoPipelining: false,
  // Commands wait until the handshake is done: if their database does not exist, they must not run in another
  // one.
  enableReadyCheck: true,
} satisfies RedisOptions;

const CLIENT_OPTIONS = {
  ...SOCKET_OPTIONS,
  retryStrategy: retryDelay,
  sentinelRetryStrategy: retryDelay,
  // Otherwise a command that was under way when the connection broke would never end.
  autoResendUnfulfilledCommands: true,
  enableOfflineQueue: true,
  // The address may lead to the new master by now. The command itself fails, and its caller repeats it.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions;

/** Options that the user's options override. */
const DEFAULT_OPTIONS = {
  // If a Sentinel does not answer within this time, connecting included, the next one is asked.
  sentinelCommandTimeout: 3_000,
} satisfies RedisOptions;

/** Callbacks for connections that fail or become ready. */
export interface RedisObserver {
  onDown(error: unknown): void;
  onUp(): void;
}

/** A client, with a way to end it and everything that BullMQ duplicated from it. */
export interface RedisClients<Client extends Redis | Cluster = Redis | Cluster> {
  client: Client;
  /** The servers that store something: one, or the masters of a cluster. */
  servers(): Redis[];
  /** Ends the sockets at once: a server that hangs would never close its side. */
  close(): void;
}

interface RedisInstance {
  options: RedisOptions;
}

function isInstance(redis: ConnectionOptions): redis is ConnectionOptions & RedisInstance {
  return 'duplicate' in redis && typeof redis.duplicate === 'function' && 'options' in redis;
}

/** Returns the options, and the `url` that BullMQ accepts among them. `ioredis` does not know that option. */
function urlAndOptions(redis: string | ConnectionOptions): { url?: string; options: object } {
  if (typeof redis === 'string') return { url: redis, options: {} };
  if (isInstance(redis)) return { options: redis.options };
  const options: object = redis;
  return 'url' in options && typeof options.url === 'string' ? { url: options.url, options } : { options };
}

/** Returns whether the server lacks the configured database. `ioredis` would continue with database 0. */
export function isNoSuchDatabase(error: Error): boolean {
  return (
    error.message.startsWith('ERR DB index is out of range') || error.message.includes('invalid DB index')
  );
}

/** Loads `ioredis`, an optional peer dependency. Bundlers treat an import inside a `try` as optional. */
export async function importRedis(): Promise<{ Redis: typeof Redis; Cluster: typeof Cluster }> {
  try {
    const ioredis = await import('ioredis');
    return { Redis: ioredis.Redis, Cluster: ioredis.Cluster };
  } catch (cause) {
    throw MissingPackageError.explain('ioredis', cause);
  }
}

/**
 * Connects with this module's own clients. Only our own clients can be ended at a shutdown whatever the server does,
 * and kept from reconnecting. A worker that was closed while its server hung still tries to reconnect.
 */
export async function openRedisClients(
  redis: string | ConnectionOptions,
  observer: RedisObserver,
): Promise<RedisClients<Redis>> {
  const { Redis: Base } = await importRedis();
  const opened = new Set<Redis>();
  let isClosed = false;

  class OwnRedis extends Base {
    override duplicate(override?: Partial<RedisOptions>): Redis {
      return observed(new OwnRedis({ ...this.options, ...override, ...CLIENT_OPTIONS }));
    }

    override connect(): Promise<void> {
      return isClosed ? Promise.reject(new ConnectionClosedError()) : super.connect();
    }

    // Between two connections there is no socket whose end would end the client, and BullMQ would wait for that for
    // ever. Only a client that never connected ends at once, so this one is given the same status.
    override disconnect(reconnect = false): void {
      if (!reconnect && this.status === 'reconnecting') this.status = 'wait';
      // Each error of a replica asks for a new connection. `ioredis` would add a listener to the socket each time.
      if (reconnect && this.status === 'ready' && this.stream.writableEnded) return;
      super.disconnect(reconnect);
    }
  }

  function observed(one: Redis): Redis {
    opened.add(one);
    gatherWrites(one);
    answerRefusedInfo(one);
    readBeforeSilence(one);
    one.on('error', (error) => {
      if (isClosed) return;
      observer.onDown(error);
      // `ioredis` would continue with database 0, even if the user lacks the right to select a database.
      if (isNoSuchDatabase(error) || isRightMissing(error)) reconnect(one);
      // Whatever blocks this connection has most likely blocked the others as well.
      if (isSilence(error)) for (const other of opened) reconnect(other);
    });
    one.on('ready', () => {
      observer.onUp();
    });
    return one;
  }

  function reconnect(one: Redis): void {
    if (one.status !== 'ready' && one.status !== 'connect') return;
    one.disconnect(true);
    end(one.stream);
  }

  const { url, options } = urlAndOptions(redis);
  const all = { ...DEFAULT_OPTIONS, ...options, lazyConnect: false, ...CLIENT_OPTIONS };
  const client = observed(url === undefined ? new OwnRedis(all) : new OwnRedis(url, all));
  letExit(client);
  return {
    client,
    servers: () => [client],
    close: () => {
      isClosed = true;
      const closed = new ConnectionClosedError();
      for (const one of opened) {
        // A command that waits while a client is between two connections would never end, nor let the process
        // end.
        one.recoverFromFatalError(closed, closed, {});
        rejectResent(one, closed);
        one.disconnect();
        end(one.stream);
      }
    },
  };
}

/** The commands that `ioredis` keeps to send again after a reconnect, but forgets when a client ends. */
interface Resending {
  prevCommandQueue?: { shift(): { command: { reject(error: Error): void } } | undefined } | null;
}

function rejectResent(one: Redis & Resending, error: Error): void {
  let item;
  while ((item = one.prevCommandQueue?.shift()) !== undefined) item.command.reject(error);
}

type Socket = Redis['stream'];

/**
 * Sends the commands of one turn of the event loop in one write. Each write wakes the server up. With many active jobs,
 * that costs more than everything else a command does here.
 */
export function gatherWrites(client: Redis): void {
  const send = client.sendCommand.bind(client);
  /** The socket whose writes are held back until the end of this turn. */
  let gathering: Socket | undefined;
  client.sendCommand = (command, to) => {
    const { stream } = client;
    // Both are `undefined` until a client begins to connect, although the type of `stream` does not say so.
    if (gathering !== stream) {
      gathering = stream;
      stream.cork();
      setImmediate(() => {
        gathering = undefined;
        stream.uncork();
      });
    }
    return send(command, to);
  };
}

/** Keeps the connection from holding an idle producer alive. The sender keeps the process alive while it has work. */
export function letExit(client: Redis): void {
  client.on('connect', () => {
    client.stream.unref();
  });
}

/** @param socket absent until a client begins to connect, despite its type */
export function end(socket: Socket | undefined): void {
  socket?.destroy();
}
