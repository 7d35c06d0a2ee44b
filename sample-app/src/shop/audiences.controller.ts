import { Controller, HttpCode, Post } from '@nestjs/common';
import type { AudienceSyncResult } from 'nestjs-analytics';
import { BigSpenders } from './big-spenders.js';

@Controller('audiences')
export class AudiencesController {
  constructor(private readonly bigSpenders: BigSpenders) {}

  /** Here a button; in a larger shop, a job of the night. */
  @Post('big-spenders')
  @HttpCode(200)
  recompute(): Promise<AudienceSyncResult> {
    return this.bigSpenders.recompute();
  }
}
