import { type MonoTypeOperatorFunction, Observable, type Subscription, tap } from 'rxjs';
import type { OutcomeListener } from './call-watch.js';

/** A call that returned an Observable. */
export interface ObservedCall {
  /** The request in which the call was made. */
  readonly request: object | undefined;
  /** The current request. */
  readonly currentRequest: () => object | undefined;
  readonly onOutcome: OutcomeListener;
}

/**
 * Watches the Observables that one method returns, without replacing them: it replaces their `subscribe` with
 * a hidden one. Each subscription is a run of its own. A subscription that ends early has no outcome.
 */
export class ObservedCalls {
  private readonly watched = new WeakMap<object, CallsOfObservable>();

  add(observable: Observable<unknown>, call: ObservedCall): void {
    const known = this.watched.get(observable);
    if (known !== undefined) {
      known.add(call);
      return;
    }
    const calls = new CallsOfObservable(call);
    if (replaceSubscribe(observable, calls)) this.watched.set(observable, calls);
    // A frozen Observable cannot be watched, so it counts as the result itself.
    else call.onOutcome({ failed: false, result: observable, error: undefined });
  }
}

/**
 * The calls that returned one Observable. Several calls return the same one if it is shared, such as a
 * Subject. Then a subscription belongs to the call of its own request, so that no user gets another user's
 * event. Outside any request it belongs to the latest call.
 */
class CallsOfObservable {
  private readonly byRequest = new WeakMap<object, ObservedCall>();
  private isShared = false;

  constructor(private latest: ObservedCall) {
    if (latest.request !== undefined) this.byRequest.set(latest.request, latest);
  }

  add(call: ObservedCall): void {
    this.isShared = true;
    this.latest = call;
    if (call.request !== undefined) this.byRequest.set(call.request, call);
  }

  /** The call that a subscription belongs to if it is made now. */
  get current(): ObservedCall | undefined {
    const request = this.latest.currentRequest();
    if (request === undefined || !this.isShared) return this.latest;
    return this.byRequest.get(request);
  }
}

/** Accepts any arguments, including the separate callbacks that RxJS deprecates. */
type Subscribe = (this: object, ...args: unknown[]) => Subscription;

function replaceSubscribe(observable: Observable<unknown>, calls: CallsOfObservable): boolean {
  const subscribe = subscribeOf(observable);
  const original = new Observable((subscriber) => subscribe.call(observable, subscriber));
  return Reflect.defineProperty(observable, 'subscribe', {
    value: (...args: unknown[]): Subscription => {
      const call = calls.current;
      const source = call === undefined ? original : original.pipe(reportTo(call));
      return subscribeOf(source).apply(source, args);
    },
    configurable: true,
    writable: true,
  });
}

function subscribeOf(observable: object): Subscribe {
  return Reflect.get(observable, 'subscribe') as Subscribe;
}

/** Reports the last value at completion. Created for each subscription. */
function reportTo({ onOutcome }: ObservedCall): MonoTypeOperatorFunction<unknown> {
  let result: unknown;
  return tap({
    next: (value) => {
      result = value;
    },
    error: (error: unknown) => {
      onOutcome({ failed: true, result: undefined, error });
    },
    complete: () => {
      onOutcome({ failed: false, result, error: undefined });
    },
  });
}
