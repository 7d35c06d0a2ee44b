import { sharedClock } from './timed-receiver.mjs';

/** Milliseconds between two messages. */
const INTERVAL = 100;
/** Milliseconds to wait for the last messages. One that has not arrived by then counts with the time until then. */
const PATIENCE = 10_000;

/** Sends messages to an idle destination, one after another, and measures how long each of them takes. */
export class FreshMessages {
  sent = new Map();
  latencies = [];

  /** Makes a call, and returns its messageId. Set by the user of this class. */
  track = () => undefined;

  /** Notes that a message has arrived. */
  arrived(id, at) {
    const sent = this.sent.get(id);
    if (sent === undefined) return;
    this.sent.delete(id);
    this.latencies.push(at - sent);
  }

  send() {
    // Read first: the arrival may be reported before the call's own turn of the event loop ends.
    const now = sharedClock();
    this.sent.set(this.track(), now);
  }

  /** Sends messages for this number of milliseconds. */
  async sendFor(duration) {
    const end = sharedClock() + duration;
    for (let due = sharedClock(); due < end; due += INTERVAL) {
      await pause(due - sharedClock());
      this.send();
    }
  }

  /** Resolves when all messages have arrived, or after this number of milliseconds. */
  async settled(patience = PATIENCE) {
    const end = sharedClock() + patience;
    while (this.sent.size > 0 && sharedClock() < end) await pause(5);
  }

  /** Returns the latencies since the previous call, in milliseconds. Messages still on their way count until now. */
  take() {
    const now = sharedClock();
    const latencies = [...this.latencies, ...[...this.sent.values()].map((sent) => now - sent)];
    const lost = this.sent.size;
    this.latencies = [];
    this.sent.clear();
    latencies.sort((a, b) => a - b);
    const at = (share) => latencies[Math.min(Math.floor(latencies.length * share), latencies.length - 1)];
    return { median: at(0.5), p99: at(0.99), lost };
  }
}

export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, Math.max(milliseconds, 0)));
}
