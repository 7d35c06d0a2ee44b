import { Readable } from 'node:stream';
import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  Optional,
  StreamableFile,
} from '@nestjs/common';
import { Observable, tap } from 'rxjs';
import { DECORATOR_RUNTIME, DecoratorRuntime } from './decorator-runtime.js';
import type { HandledRequest } from './handled-request.js';

/** Runs a handler, and everything it calls, within its request. Does nothing if the module is absent. */
@Injectable()
export class RequestContextInterceptor implements NestInterceptor {
  constructor(@Optional() @Inject(DECORATOR_RUNTIME) private readonly runtime?: DecoratorRuntime) {}

  intercept(host: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { runtime } = this;
    const request = runtime?.requestOf(host);
    if (runtime === undefined || request === undefined) return next.handle();
    // The handler runs only on subscription. What it returns may be subscribed to even later.
    return new Observable((subscriber) =>
      runtime.within(request, () =>
        next
          .handle()
          .pipe(
            tap((value) => {
              readBodyWithin(request, value, runtime);
            }),
          )
          .subscribe(subscriber),
      ),
    );
  }
}

/** Keeps the request current for the code that runs while a stream body is read, after the handler has returned. */
function readBodyWithin(request: HandledRequest, value: unknown, runtime: DecoratorRuntime): void {
  const body = value instanceof StreamableFile ? value.getStream() : value;
  if (!(body instanceof Readable)) return;
  const read = body._read.bind(body);
  body._read = (size) => {
    runtime.within(request, () => {
      read(size);
    });
  };
}
