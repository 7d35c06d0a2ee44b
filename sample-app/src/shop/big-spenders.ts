import { Injectable } from '@nestjs/common';
import { AudiencesService, type AudienceSyncResult } from 'nestjs-analytics';
import { Orders } from './orders.js';

/** Receivers know it as the trait `big_spenders`. */
const NAME = 'Big Spenders';
/** In euros: two mugs are enough. */
const MORE_THAN = 20;

/** The audience of the customers who spend much. */
@Injectable()
export class BigSpenders {
  constructor(
    private readonly audiences: AudiencesService,
    private readonly orders: Orders,
  ) {}

  /** Sends an identify call for each customer who came or went since the last time, and for no other. */
  recompute(): Promise<AudienceSyncResult> {
    return this.audiences.sync(NAME, this.orders.customersAbove(MORE_THAN));
  }

  async remove(customerId: string): Promise<void> {
    await this.audiences.remove(NAME, customerId);
  }
}
