import { randomUUID } from 'node:crypto';

const CONTEXT = { library: { name: 'nestjs-analytics', version: '0.2.0' } };
const KEY = 'nestjs-analytics-benchmark';

function check(value) {
  if (typeof value !== 'string' || value === '') throw new TypeError('Expected a non-empty string');
}

/** Does the least that a client can do in a call: checks, stamps, serialises and keeps a message. */
export class Floor {
  messages = [];

  track({ userId, event, properties }) {
    check(userId);
    check(event);
    const messageId = randomUUID();
    const timestamp = new Date().toISOString();
    // The fields of a webhook's body, in their order.
    const body = {
      version: 1,
      type: 'track',
      userId,
      event,
      properties,
      context: CONTEXT,
      messageId,
      timestamp,
    };
    this.messages.push(JSON.stringify(body));
    return messageId;
  }

  flush() {
    this.messages = [];
  }

  close() {}
}

/** Does the least that gets messages into Redis: each batch is one string in one command, and waits for no other. */
export class FloorOnRedis extends Floor {
  unanswered = [];

  constructor(redis, flushAt) {
    super();
    this.redis = redis;
    this.flushAt = flushAt;
  }

  track(call) {
    const messageId = super.track(call);
    if (this.messages.length === this.flushAt) this.write();
    return messageId;
  }

  async flush() {
    if (this.messages.length > 0) this.write();
    await Promise.all(this.unanswered.splice(0));
  }

  async close() {
    await this.redis.del(KEY);
    await this.redis.quit();
  }

  write() {
    this.unanswered.push(this.redis.rpush(KEY, `[${this.messages.join(',')}]`));
    this.messages = [];
  }
}
