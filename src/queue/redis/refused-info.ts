import type { Redis } from 'ioredis';
import { isRightMissing } from './needed-rights.js';

/** Assumed answer of a server that refuses `INFO`: the oldest version that carries the queue. */
const ASSUMED_INFO = 'redis_version:6.2.0\r\n';

/**
 * Answers `INFO` in place of a server whose user may not ask, as is usual on a managed Redis. BullMQ only asks for the
 * version. It would remember a refusal, and never add or take a job again. Its `skipVersionCheck` takes the server for
 * a 5.0, whose workers wait for whole seconds.
 */
export function answerRefusedInfo(client: Redis): void {
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, to) => {
    if (command.name === 'info') {
      const reject = command.reject.bind(command);
      command.reject = (error) => {
        if (isRightMissing(error)) command.resolve(ASSUMED_INFO);
        else reject(error);
      };
    }
    return send(command, to);
  };
}
