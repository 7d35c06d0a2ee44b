import { types } from 'node:util';
import { describeKind } from '../messages/value-kind.js';
import { DESTINATION_ID, isDestinationId } from '../options/destination-id.js';
import type { QueueHealth } from '../queue/queue-health.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { countOf } from '../shared/count-of.js';
import { quoted } from '../shared/quoted.js';
import type { ClientObserver } from './analytics-client.types.js';

/** How often a reason for refusing messages is logged again while it lasts, in milliseconds. */
const REFUSAL_INTERVAL = 60_000;
/** Keys may come from data, so their number and length in the log are limited. */
const MAX_KEYS = 50;
/** Limit for keys that other programs send. They do not count against the limit for the application's own keys. */
const MAX_RECEIVED_KEYS = 5;
const MAX_KEY_LENGTH = 50;

export interface ClientLogger {
  warn(message: string): void;
}

/** A reason for which messages are being refused. */
interface LoggedRefusal {
  /** Messages refused since the last line in the log. */
  count: number;
  timer: Timer;
}

/** Logs what a call cannot report by throwing: once, or once a minute, however many messages are affected. */
export class ClientLog implements ClientObserver {
  private readonly refusals = new Map<string, LoggedRefusal>();
  /** Keys that were logged. */
  private readonly keys = new Set<string>();
  private readonly keysLeft = { own: MAX_KEYS, received: MAX_RECEIVED_KEYS };
  private hasWrongTenant = false;
  private readonly wrongIds = new Set<string>();

  constructor(
    private readonly health: QueueHealth,
    private readonly logger: ClientLogger,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {}

  onRefused(reason: string): void {
    const refusal = this.refusals.get(reason);
    if (refusal !== undefined) {
      refusal.count++;
      return;
    }
    this.refusals.set(reason, { count: 0, timer: this.timerFor(reason) });
    this.logger.warn(`Messages are refused: ${reason}. \`status()\` counts them.`);
  }

  onAddFailed(error: unknown): void {
    if (types.isNativeError(error)) this.health.report(error);
  }

  onClosed(): void {
    for (const [reason, { count, timer }] of this.refusals) {
      timer.cancel();
      if (count > 0) this.logMore(reason, count);
    }
    this.refusals.clear();
  }

  /**
   * @param similar the key that was probably meant
   * @param isReceived whether another program sent the key
   */
  unknownIntegration(key: string, similar: string | undefined, isReceived: boolean): void {
    this.unknownKey('`integrations`', key, similar, isReceived ? 'received' : 'own');
  }

  /** @param source name of the source whose schema has the key */
  unknownInSchema(source: string, key: string, similar: string | undefined): void {
    this.unknownKey(`the \`schema\` of the source ${JSON.stringify(source)}`, key, similar, 'own');
  }

  /** @param returned what `destinations.tenant` returned instead of a string */
  wrongTenant(returned: unknown): void {
    if (this.hasWrongTenant) return;
    this.hasWrongTenant = true;
    this.logger.warn(
      `Expected \`destinations.tenant\` to return a string, or undefined for an event without a tenant, got ${describeKind(returned)}` +
        `${types.isPromise(returned) ? ': it must be synchronous' : ''}. Messages for which it returns anything else go to no tenant.`,
    );
  }

  /** @param id the id of a record in the application's own store, to which no message may go */
  wrongDestinationId(id: unknown): void {
    const isText = isDestinationId(id);
    const text = isText ? quoted(id.slice(0, MAX_KEY_LENGTH)) : describeKind(id);
    if (this.wrongIds.has(text) || this.wrongIds.size === MAX_KEYS) return;
    this.wrongIds.add(text);
    const problem = isText
      ? `A destination in your own store has the id ${text}, which a destination in the options has, too`
      : `Expected the id of a destination in your own store to be ${DESTINATION_ID}, got ${text}`;
    this.logger.warn(`${problem}. It gets no messages.`);
  }

  private unknownKey(
    place: string,
    key: string,
    similar: string | undefined,
    origin: 'own' | 'received',
  ): void {
    if (this.keysLeft[origin] === 0) return;
    const text = quoted(key.slice(0, MAX_KEY_LENGTH));
    const entry = `${place} ${text}`;
    if (this.keys.has(entry)) return;
    this.keys.add(entry);
    this.keysLeft[origin]--;
    const hint = similar === undefined ? '' : ` Did you mean ${JSON.stringify(similar)}?`;
    this.logger.warn(
      `The key ${text} in ${place} has no effect, since no destination has that name or id.${hint}`,
    );
  }

  private timerFor(reason: string): Timer {
    return this.clock.afterUnlessIdle(REFUSAL_INTERVAL, () => {
      const refusal = this.refusals.get(reason);
      if (refusal === undefined || refusal.count === 0) {
        this.refusals.delete(reason);
        return;
      }
      this.logMore(reason, refusal.count);
      refusal.count = 0;
      refusal.timer = this.timerFor(reason);
    });
  }

  private logMore(reason: string, count: number): void {
    this.logger.warn(
      `${countOf(count, 'more message')} ${count === 1 ? 'was' : 'were'} refused since the last line: ${reason}.`,
    );
  }
}
