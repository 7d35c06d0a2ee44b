import { Controller, type MessageEvent, Sse } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { DeliveryLog } from './delivery-log.js';

@Controller('deliveries')
export class DeliveriesController {
  constructor(private readonly log: DeliveryLog) {}

  /** Streams server-sent events: the deliveries so far, then each new delivery as it arrives. */
  @Sse()
  stream(): Observable<MessageEvent> {
    return this.log.all$.pipe(map((delivery) => ({ data: delivery })));
  }
}
