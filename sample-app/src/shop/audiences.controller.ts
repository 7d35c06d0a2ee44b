import { Controller, HttpCode, Post } from '@nestjs/common';
import type { AudienceSyncResult } from 'nestjs-analytics';
import { BigSpenders } from './big-spenders.js';

@Controller('audiences')
export class AudiencesController {
  constructor(private readonly bigSpenders: BigSpenders) {}

  /** Runs when a button is clicked. In a larger shop, this would be a nightly job. */
  @Post('big-spenders')
  @HttpCode(200)
  recompute(): Promise<AudienceSyncResult> {
    return this.bigSpenders.recompute();
  }
}
