import { Inject, Injectable } from '@nestjs/common';
import { verifySignature } from 'nestjs-analytics';
import type { Verdict } from './delivery.js';
import { DeliveryLog } from './delivery-log.js';

export const SHARED_SECRET = Symbol('SHARED_SECRET');

/** `up` accepts events, `down` refuses them so that they are sent again, and `broken` rejects them for good. */
export type ReceiverState = keyof typeof VERDICTS;

const VERDICTS = { up: 'verified', down: 'refused', broken: 'rejected' } as const satisfies Record<
  string,
  Verdict
>;

export function isReceiverState(value: unknown): value is ReceiverState {
  return typeof value === 'string' && Object.hasOwn(VERDICTS, value);
}

/** A request to the webhook's URL. */
export interface Hook {
  id: string;
  signature: string;
  /** The bytes that were signed. */
  rawBody: Buffer;
  body: unknown;
}

/** The customer's side of a webhook: accepts only signed events, and keeps each event once. */
@Injectable()
export class Receiver {
  state: ReceiverState = 'up';

  constructor(
    @Inject(SHARED_SECRET) private readonly sharedSecret: string,
    private readonly log: DeliveryLog,
  ) {}

  receive({ id, signature, rawBody, body }: Hook): Verdict {
    const verdict = this.judge(rawBody, signature);
    this.log.add({ verdict, receivedAt: new Date().toISOString(), id, signature, body });
    return verdict;
  }

  private judge(rawBody: Buffer, signature: string): Verdict {
    if (!verifySignature(rawBody, signature, this.sharedSecret)) return 'not verified';
    return VERDICTS[this.state];
  }
}
