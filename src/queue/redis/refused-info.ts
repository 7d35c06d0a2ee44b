import type { Redis } from 'ioredis';
import { isRightMissing } from './needed-rights.js';

/** What can be relied on of a server that does not tell: the oldest version that carries the queue. */
const ASSUMED_INFO = 'redis_version:6.2.0\r\n';

/**
 * Answers `INFO` in place of a server whose user may not ask, as is usual where Redis is managed. BullMQ asks for the
 * version alone. It would remember the refusal, and never add or take a job again. Its own way to do without
 * (`skipVersionCheck`) takes the server for a 5.0, whose workers wait for whole seconds.
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
