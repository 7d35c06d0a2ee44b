import type { IncomingMessage } from 'node:http';
import {
  BadRequestException,
  Body,
  Controller,
  Headers,
  HttpCode,
  Post,
  Put,
  type RawBodyRequest,
  Req,
  ServiceUnavailableException,
  UnauthorizedException,
} from '@nestjs/common';
import { isReceiverState, Receiver } from './receiver.js';

@Controller('hooks')
export class HooksController {
  constructor(private readonly receiver: Receiver) {}

  /**
   * Receives webhooks. A 2xx status says that the event has arrived, a 5xx status asks the sender to try again, and
   * 400 asks the sender not to.
   */
  @Post()
  @HttpCode(204)
  receive(
    @Req() { rawBody }: RawBodyRequest<IncomingMessage>,
    @Body() body: unknown,
    @Headers('webhook-id') id = '',
    @Headers('x-signature') signature = '',
  ): void {
    if (rawBody === undefined) throw new BadRequestException('The body of a webhook must be a JSON object.');
    const verdict = this.receiver.receive({ id, signature, rawBody, body });
    if (verdict === 'not verified') throw new UnauthorizedException('The signature is wrong or missing.');
    if (verdict === 'rejected') throw new BadRequestException('The receiver is broken.');
    if (verdict === 'refused') throw new ServiceUnavailableException('The receiver is down. Try later.');
  }

  /** Breaks or repairs the receiver, so that you can watch retries and failures. */
  @Put('state')
  @HttpCode(204)
  setState(@Body('state') state: unknown): void {
    if (!isReceiverState(state)) throw new BadRequestException('The state must be up, down or broken.');
    this.receiver.state = state;
  }
}
