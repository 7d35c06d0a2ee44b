import type { IncomingMessage } from 'node:http';
import {
  BadRequestException,
  Body,
  Controller,
  Headers,
  HttpCode,
  Param,
  Post,
  type RawBodyRequest,
  Req,
  UnauthorizedException,
} from '@nestjs/common';
import { verifySignature } from 'nestjs-analytics';
import { OwnDeliveries } from './own-deliveries.js';

/** Stands in for the visitors' own applications. Each application knows its own secret. */
@Controller('own-hooks')
export class OwnHooksController {
  constructor(private readonly deliveries: OwnDeliveries) {}

  @Post(':visitorId')
  @HttpCode(204)
  receive(
    @Param('visitorId') visitorId: string,
    @Req() { rawBody }: RawBodyRequest<IncomingMessage>,
    @Body() body: unknown,
    @Headers('webhook-id') id = '',
    @Headers('x-signature') signature = '',
  ): void {
    if (rawBody === undefined) throw new BadRequestException('The body of a webhook must be a JSON object.');
    if (!verifySignature(rawBody, signature, visitorId)) {
      throw new UnauthorizedException('The signature is wrong or missing.');
    }
    const receivedAt = new Date().toISOString();
    this.deliveries.add(visitorId, { verdict: 'verified', receivedAt, id, signature, body });
  }
}
