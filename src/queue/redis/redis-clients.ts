import { ConnectionClosedError, type ConnectionOptions } from 'bullmq';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { MissingPackageError } from '../../errors/setup.errors.js';
import { isSilence, readBeforeSilence } from './late-answers.js';
import { isRightMissing } from './needed-rights.js';
import { answerRefusedInfo } from './refused-info.js';

/**
 * If a command waits for this long without any answer, its connection is closed and opened again, in
 * milliseconds. BullMQ's workers block for ten seconds at most.
 */
const SILENCE_TIMEOUT = 12_000;

/** The wait before the next attempt to connect, in milliseconds. */
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
  // It would end a worker's wait for a job too early, and what the server then still answers would be lost.
  commandTimeout: undefined,
  // What is left of a pipeline when its connection breaks is not sent again.
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

/** What holds if the user's options do not say something else. */
const DEFAULT_OPTIONS = {
  // A Sentinel without an answer after this time, the connection included, is passed over for the next one.
  sentinelCommandTimeout: 3_000,
} satisfies RedisOptions;

/** Learns what becomes of the connections. */
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

/** BullMQ takes `url` beside the options of `ioredis`, which does not know it. */
function urlAndOptions(redis: string | ConnectionOptions): { url?: string; options: object } {
  if (typeof redis === 'string') return { url: redis, options: {} };
  if (isInstance(redis)) return { options: redis.options };
  const options: object = redis;
  return 'url' in options && typeof options.url === 'string' ? { url: options.url, options } : { options };
}

/**
 * Whether the server has no database with the configured number. `ioredis` would continue with database 0.
 */
export function isNoSuchDatabase(error: Error): boolean {
  return (
    error.message.startsWith('ERR DB index is out of range') || error.message.includes('invalid DB index')
  );
}

/** Loads `ioredis`, an optional peer dependency. A bundler takes an import in a `try` for an optional one. */
export async function importRedis(): Promise<{ Redis: typeof Redis; Cluster: typeof Cluster }> {
  try {
    const ioredis = await import('ioredis');
    return { Redis: ioredis.Redis, Cluster: ioredis.Cluster };
  } catch (cause) {
    throw MissingPackageError.explain('ioredis', cause);
  }
}

/**
 * Connects with this module's own clients. Only those can be ended at a shutdown whatever the server does,
 * and kept from connecting again: a worker that was closed while its server hung still tries to.
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

    // Between two connections there is no socket whose end would end the client, and BullMQ would wait for that
    // for ever. Only a client that never connected ends at once.
    override disconnect(reconnect = false): void {
      if (!reconnect && this.status === 'reconnecting') this.status = 'wait';
      // Each answer of a replica asks for a new connection. `ioredis` would add a listener to the socket for each of them.
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
      // `ioredis` would go on in database 0, even where the user may not choose one.
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

/** What `ioredis` keeps to send again when it is connected, which it forgets when a client ends. */
interface Resending {
  prevCommandQueue?: { shift(): { command: { reject(error: Error): void } } | undefined } | null;
}

function rejectResent(one: Redis & Resending, error: Error): void {
  let item;
  while ((item = one.prevCommandQueue?.shift()) !== undefined) item.command.reject(error);
}

type Socket = Redis['stream'];

/**
 * Sends the commands of one turn of the event loop in one write. Each write wakes the server up, and with many
 * jobs in hand that costs more than everything else a command does here.
 */
export function gatherWrites(client: Redis): void {
  const send = client.sendCommand.bind(client);
  /** The socket whose writes are held back until the end of this turn. */
  let gathering: Socket | undefined;
  client.sendCommand = (command, to) => {
    const { stream } = client;
    // Both are absent until a client begins to connect, despite the type of the one.
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

/** The connection does not keep an idle producer alive. The sender does so while it has work. */
export function letExit(client: Redis): void {
  client.on('connect', () => {
    client.stream.unref();
  });
}

/** @param socket absent until a client begins to connect, despite its type */
export function end(socket: Socket | undefined): void {
  socket?.destroy();
}
