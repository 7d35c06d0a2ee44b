import { Injectable } from '@nestjs/common';
import { type Observable, ReplaySubject } from 'rxjs';
import type { Delivery } from './delivery.js';

/** Number of deliveries that a page gets when it connects. */
const KEPT = 200;
/** Number of ids kept to recognize duplicates. A real receiver stores the ids with the events, for 8 days. */
const REMEMBERED = 10_000;

/** Keeps the latest deliveries in memory, each verified event once. */
@Injectable()
export class DeliveryLog {
  private readonly deliveries = new ReplaySubject<Delivery>(KEPT);
  private readonly ids = new Set<string>();

  /** Emits the deliveries so far, then each new delivery as it arrives. */
  get all$(): Observable<Delivery> {
    return this.deliveries.asObservable();
  }

  add(delivery: Delivery): void {
    // Only verified ids count: otherwise, a stranger could send an id first, and the real event would be dropped.
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
