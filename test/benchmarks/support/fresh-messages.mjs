import { sharedClock } from './timed-receiver.mjs';

/** Between two messages, in milliseconds. */
const INTERVAL = 100;
/** How long the last of them are waited for, in milliseconds: what has not come by then counts with the time until then. */
const PATIENCE = 10_000;

/** Messages to a destination that is idle, one after the other, and how long each of them is on its way. */
export class FreshMessages {
  sent = new Map();
  latencies = [];

  /** Makes a call, and returns the messageId. */
  track = () => undefined;

  /** One of them has come. */
  arrived(id, at) {
    const sent = this.sent.get(id);
    if (sent === undefined) return;
    this.sent.delete(id);
    this.latencies.push(at - sent);
  }

  send() {
    // Read first: the arrival may be told before the call's own turn of the event loop ends.
    const now = sharedClock();
    this.sent.set(this.track(), now);
  }

  /** Sends for so many milliseconds. */
  async sendFor(duration) {
    const end = sharedClock() + duration;
    for (let due = sharedClock(); due < end; due += INTERVAL) {
      await pause(due - sharedClock());
      this.send();
    }
  }

  /** Resolves when all have come, or that many milliseconds have passed. */
  async settled(patience = PATIENCE) {
    const end = sharedClock() + patience;
    while (this.sent.size > 0 && sharedClock() < end) await pause(5);
  }

  /** What it has measured since it was asked last: milliseconds, those of what has not come until now included. */
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
