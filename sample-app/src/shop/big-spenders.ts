import { Injectable } from '@nestjs/common';
import { AudiencesService, type AudienceSyncResult } from 'nestjs-analytics';
import { Orders } from './orders.js';

/** Name of the audience. Receivers get it as the trait `big_spenders`. */
const NAME = 'Big Spenders';
/** Customers who have spent more than this, in euros, are members: two mugs are enough. */
const MORE_THAN = 20;

/** The audience of customers who have spent a lot. */
@Injectable()
export class BigSpenders {
  constructor(
    private readonly audiences: AudiencesService,
    private readonly orders: Orders,
  ) {}

  /** Sends an identify call only for customers who joined or left since the last recomputation. */
  recompute(): Promise<AudienceSyncResult> {
    return this.audiences.sync(NAME, this.orders.customersAbove(MORE_THAN));
  }

  async remove(customerId: string): Promise<void> {
    await this.audiences.remove(NAME, customerId);
  }
}
