import { Injectable } from '@nestjs/common';
import { type Observable, ReplaySubject } from 'rxjs';
import type { Delivery } from './delivery.js';

/** Deliveries that a page sees when it connects. */
const KEPT = 200;
/** Ids by which a duplicate is recognized. A real receiver keeps them where it keeps the events, for hours. */
const REMEMBERED = 10_000;

/** The latest deliveries, in memory, each event once. */
@Injectable()
export class DeliveryLog {
  private readonly deliveries = new ReplaySubject<Delivery>(KEPT);
  private readonly ids = new Set<string>();

  /** Those so far, and then each as it arrives. */
  get all$(): Observable<Delivery> {
    return this.deliveries.asObservable();
  }

  add(delivery: Delivery): void {
    // Only a verified id counts, or a stranger could use one up before the real event arrives.
    if (delivery.verdict === 'verified' && this.isDuplicate(delivery.id)) return;
    this.deliveries.next(delivery);
  }

  private isDuplicate(id: string): boolean {
    if (this.ids.has(id)) return true;
    this.ids.add(id);
    const [oldest] = this.ids;
    if (this.ids.size > REMEMBERED && oldest !== undefined) this.ids.delete(oldest);
    return false;
  }
}
