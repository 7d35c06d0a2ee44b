import { ConnectionClosedError, type ConnectionOptions } from 'bullmq';
import type { Redis, RedisOptions } from 'ioredis';
import { importPeer } from './import-peer.js';

const CLIENT_OPTIONS = {
  // BullMQ asks for it: a command waits for the server to come back rather than to fail.
  maxRetriesPerRequest: null,
  // The shape of replies that BullMQ reads, whatever the host application chose for itself.
  replyMapping: 'legacy',
  retryStrategy: (times: number) => Math.min(100 * 2 ** times, 2_000),
  // A client that is told to disconnect waits this long for its socket to end, also for one that ended long
  // ago, and keeps the process alive meanwhile. One that is to connect again sends what had no answer once more.
  disconnectTimeout: 0,
} satisfies RedisOptions;

/** A client, and the end of it and of all that BullMQ has duplicated from it. */
export interface RedisClients {
  client: Redis;
  /** Ends the sockets at once: a server that hangs would never close its side. */
  close(): void;
}

interface RedisInstance {
  options: RedisOptions;
}

function isInstance(redis: ConnectionOptions): redis is ConnectionOptions & RedisInstance {
  return 'duplicate' in redis && typeof redis.duplicate === 'function' && 'options' in redis;
}

/**
 * Connects with clients of our own. Only those can be ended at a shutdown whatever the server does, and
 * kept from connecting again: a worker that was closed while its server hung still tries to.
 */
export async function openRedisClients(redis: string | ConnectionOptions): Promise<RedisClients> {
  const { Redis } = await importPeer('ioredis', () => import('ioredis'));
  const opened = new Set<Redis>();
  let isClosed = false;

  class OwnRedis extends Redis {
    /** The socket that keeps what is written until the end of this turn. */
    private gathering: Redis['stream'] | undefined;

    override duplicate(override?: Partial<RedisOptions>): Redis {
      const duplicate = new OwnRedis({ ...this.options, ...override, ...CLIENT_OPTIONS });
      opened.add(duplicate);
      return duplicate;
    }

    override sendCommand(...[command, stream]: Parameters<Redis['sendCommand']>): unknown {
      this.gather();
      return super.sendCommand(command, stream);
    }

    /**
     * Has the commands of one turn of the event loop leave in one write. Each write wakes the server up, and
     * with many jobs in hand that costs more than the rest of what a command does here.
     */
    private gather(): void {
      const { stream } = this;
      if (this.gathering === stream) return;
      this.gathering = stream;
      stream.cork();
      setImmediate(() => {
        this.gathering = undefined;
        stream.uncork();
      });
    }

    override connect(): Promise<void> {
      return isClosed ? Promise.reject(new ConnectionClosedError()) : super.connect();
    }
  }

  const client =
    typeof redis === 'string'
      ? new OwnRedis(redis, CLIENT_OPTIONS)
      : new OwnRedis({
          ...(isInstance(redis) ? redis.options : redis),
          lazyConnect: false,
          ...CLIENT_OPTIONS,
        });
  opened.add(client);
  return {
    client,
    close: () => {
      isClosed = true;
      for (const one of opened) {
        one.disconnect();
        end(one.stream);
      }
    },
  };
}

/** @param socket absent while a client has not begun to connect, whatever its type says */
function end(socket: RedisClients['client']['stream'] | undefined): void {
  socket?.destroy();
}
