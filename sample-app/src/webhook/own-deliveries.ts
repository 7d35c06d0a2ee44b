import { Injectable } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { Delivery } from '../receiver/delivery.js';
import { DeliveryLog } from '../receiver/delivery-log.js';

/** Number of visitors whose deliveries are kept. */
const MAX_VISITORS = 1_000;

/** The deliveries to each visitor's own webhook. */
@Injectable()
export class OwnDeliveries {
  private readonly logs = new Map<string, DeliveryLog>();

  /** Emits a visitor's deliveries so far, then each new delivery as it arrives. */
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
