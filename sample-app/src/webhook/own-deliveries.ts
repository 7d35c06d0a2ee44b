import { Injectable } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { Delivery } from '../receiver/delivery.js';
import { DeliveryLog } from '../receiver/delivery-log.js';

/** Visitors whose deliveries are remembered. */
const MAX_VISITORS = 1_000;

/** What arrived at the webhook of each visitor. */
@Injectable()
export class OwnDeliveries {
  private readonly logs = new Map<string, DeliveryLog>();

  /** Those of a visitor so far, and then each as it arrives. */
  of(visitorId: string): Observable<Delivery> {
    return this.logOf(visitorId).all$;
  }

  add(visitorId: string, delivery: Delivery): void {
    this.logOf(visitorId).add(delivery);
  }

  private logOf(visitorId: string): DeliveryLog {
    const known = this.logs.get(visitorId);
    if (known !== undefined) return known;
    const [oldest] = this.logs.keys();
    if (this.logs.size >= MAX_VISITORS && oldest !== undefined) this.logs.delete(oldest);
    const log = new DeliveryLog();
    this.logs.set(visitorId, log);
    return log;
  }
}
