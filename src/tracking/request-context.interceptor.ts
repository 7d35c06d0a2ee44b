import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  Optional,
} from '@nestjs/common';
import { Observable } from 'rxjs';
import { TRACKING_HUB, TrackingHub } from './tracking-hub.js';

/** Runs a handler, and all that it calls, within its request. Where the module is absent, it does nothing. */
@Injectable()
export class RequestContextInterceptor implements NestInterceptor {
  constructor(@Optional() @Inject(TRACKING_HUB) private readonly hub?: TrackingHub) {}

  intercept(host: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { hub } = this;
    const request = hub?.admit(host);
    if (hub === undefined || request === undefined) return next.handle();
    // The handler runs when it is subscribed to, and what it returns may be subscribed to later still.
    return new Observable((subscriber) => hub.within(request, () => next.handle().subscribe(subscriber)));
  }
}
