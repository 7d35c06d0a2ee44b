import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import type { JsonObject } from '../messages/message.types.js';
import { HandledRequest } from './handled-request.js';
import type { RequestContextMode } from './request-context.types.js';
import type { Tracker } from './tracker.js';

/** Where decorated methods find what tracks them; also the key of the property that it is injected under. */
export const TRACKING_HUB = Symbol.for('nestjs-analytics:tracking-hub');

/**
 * The meeting point of one application: decorated methods are given it, requests enter it, and the tracker
 * joins when the module is ready. It depends on nothing, so that a decorated provider never waits for the
 * queue, and may itself be what the options are made of.
 */
export class TrackingHub {
  private readonly requests = new AsyncLocalStorage<HandledRequest | undefined>();
  private mode: RequestContextMode = false;
  /** `undefined` until the module is ready. */
  tracker: Tracker | undefined;

  open(tracker: Tracker, mode: RequestContextMode): void {
    this.tracker = tracker;
    this.mode = mode;
  }

  /** The request that is being handled. */
  get request(): HandledRequest | undefined {
    return this.requests.getStore();
  }

  /** What the request being handled adds to the context of messages. */
  get contextFields(): JsonObject | undefined {
    return this.requests.getStore()?.fields;
  }

  /** The request of a handler's call, to be run within; `undefined` where it is not wanted or already is. */
  admit(host: ExecutionContext): HandledRequest | undefined {
    if (this.mode === false || this.request?.host === host) return undefined;
    return new HandledRequest(host);
  }

  /** Runs a function within a request, or, with `undefined`, out of any. */
  within<T>(request: HandledRequest | undefined, run: () => T): T {
    return this.requests.run(request, run);
  }
}
