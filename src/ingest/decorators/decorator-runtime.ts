import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import type { JsonObject } from '../../messages/message.types.js';
import type { RequestContextMode } from '../../options/request-context.types.js';
import type { CallRecorder } from './call-recorder.js';
import { HandledRequest } from './handled-request.js';

/** Token of the runtime; also the key of the property that it is injected under. */
export const DECORATOR_RUNTIME = Symbol.for('nestjs-analytics:decorator-runtime');

/**
 * State that the decorated methods of one application share: the current request, and the recorder, which is set when
 * the module is ready. The runtime has no dependencies. A decorated provider therefore never waits for the queue, and
 * may be injected where the options are created.
 */
export class DecoratorRuntime {
  private readonly requests = new AsyncLocalStorage<HandledRequest | undefined>();
  private mode: RequestContextMode = false;
  private ready: CallRecorder | undefined;

  /** Records calls from now on. Called when the module is ready. */
  open(recorder: CallRecorder, mode: RequestContextMode): void {
    this.ready = recorder;
    this.mode = mode;
  }

  /** `undefined` until the module is ready. */
  get recorder(): CallRecorder | undefined {
    return this.ready;
  }

  /** The current request. */
  get request(): HandledRequest | undefined {
    return this.requests.getStore();
  }

  /** Fields that the current request adds to the context of messages. */
  get contextFields(): JsonObject | undefined {
    return this.requests.getStore()?.fields;
  }

  /** Returns the request to run a handler within; `undefined` if it is not wanted, or already current. */
  requestOf(host: ExecutionContext): HandledRequest | undefined {
    if (this.mode === false || this.request?.host === host) return undefined;
    return new HandledRequest(host);
  }

  /** Runs a function within a request, or, with `undefined`, outside any. */
  within<T>(request: HandledRequest | undefined, run: () => T): T {
    return this.requests.run(request, run);
  }
}
