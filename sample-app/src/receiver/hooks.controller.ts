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
   * Where the webhooks arrive. A status of 2xx says that the event is here; of 5xx, that it shall come again; of
   * 400, that nobody needs to try again.
   */
  @Post()
  @HttpCode(204)
  receive(
    @Req() { rawBody }: RawBodyRequest<IncomingMessage>,
    @Body() body: unknown,
    @Headers('webhook-id') id = '',
    @Headers('x-signature') signature = '',
  ): void {
    if (rawBody === undefined) throw new BadRequestException('A webhook is a JSON object.');
    const verdict = this.receiver.receive({ id, signature, rawBody, body });
    if (verdict === 'not verified') throw new UnauthorizedException('The signature is wrong or missing.');
    if (verdict === 'rejected') throw new BadRequestException('This receiver is broken.');
    if (verdict === 'refused') throw new ServiceUnavailableException('Closed for now, try again later.');
  }

  /** Breaks the receiver, or puts it right, so that retries and failures can be watched. */
  @Put('state')
  @HttpCode(204)
  setState(@Body('state') state: unknown): void {
    if (!isReceiverState(state)) throw new BadRequestException('The state is up, down or broken.');
    this.receiver.state = state;
  }
}
