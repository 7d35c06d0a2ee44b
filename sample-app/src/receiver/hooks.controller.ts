import type { IncomingMessage } from 'node:http';
import {
  BadRequestException,
  Body,
  Controller,
  Headers,
  HttpCode,
  ParseBoolPipe,
  Post,
  Put,
  type RawBodyRequest,
  Req,
  ServiceUnavailableException,
  UnauthorizedException,
} from '@nestjs/common';
import { Receiver } from './receiver.js';

@Controller('hooks')
export class HooksController {
  constructor(private readonly receiver: Receiver) {}

  /** Where the webhooks arrive. A status of 2xx says that the event is here; of 5xx, that it shall come again. */
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
    if (verdict === 'refused') throw new ServiceUnavailableException('Closed for now, try again later.');
  }

  /** Closes the receiver or opens it again, so that retries can be watched. */
  @Put('open')
  @HttpCode(204)
  setOpen(@Body('open', ParseBoolPipe) open: boolean): void {
    this.receiver.open = open;
  }
}
