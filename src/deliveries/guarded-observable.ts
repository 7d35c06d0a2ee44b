import { types } from 'node:util';
import {
  Observable,
  type Observer,
  type Operator,
  Subscriber,
  type Subscription,
  UnsubscriptionError,
} from 'rxjs';

/** Called with what a subscriber threw. */
export type OnThrow = (error: unknown) => void;
type Subscribable<T> = Partial<Observer<T>> | ((value: T) => void) | null;

/**
 * Throws no errors into the stream. Callbacks that run at the end of a subscription, such as those of `finalize`, throw
 * at whoever ends the subscription. If that is the stream, its other subscribers would never be told of the end.
 */
class GuardedSubscriber<T> extends Subscriber<T> {
  constructor(
    subscriber: Subscriber<T>,
    private readonly onThrow: OnThrow,
  ) {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- as the operators of RxJS 7 do
    super(subscriber);
  }

  override next(value: T): void {
    this.guard(() => {
      super.next(value);
    });
  }

  override error(error?: unknown): void {
    this.guard(() => {
      super.error(error);
    });
  }

  override complete(): void {
    this.guard(() => {
      super.complete();
    });
  }

  private guard(notify: () => void): void {
    try {
      notify();
    } catch (error) {
      const errors: unknown[] = error instanceof UnsubscriptionError ? error.errors : [error];
      for (const each of errors) this.onThrow(each);
    }
  }
}

/**
 * Shields the process from errors that a subscriber throws: rxjs would rethrow them where nobody can catch
 * them. An operator's error belongs to the subscriber and goes to its `error` handler, if it has one.
 */
export class GuardedObservable<T> extends Observable<T> {
  constructor(
    inner: Observable<T>,
    private readonly onThrow: OnThrow,
  ) {
    super((subscriber) => inner.subscribe(new GuardedSubscriber(subscriber, onThrow)));
  }

  /** Guards the result of `pipe` as well. */
  /* eslint-disable @typescript-eslint/no-deprecated -- RxJS 7 makes each of its operators with it */
  override lift<R>(this: Observable<T>, operator?: Operator<T, R>): Observable<R> {
    const lifted = super.lift(operator);
    // `publish` and `multicast` give this method to Observables of their own.
    return this instanceof GuardedObservable ? new GuardedObservable(lifted, this.onThrow) : lifted;
  }
  /* eslint-enable @typescript-eslint/no-deprecated */

  override subscribe(
    subscriber?: Subscribable<T>,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // This is the subscriber of an operator. The subscriber behind the operator is guarded.
    if (subscriber instanceof Subscriber) return super.subscribe(subscriber);
    const observer: Partial<Observer<T>> =
      typeof subscriber === 'object' && subscriber !== null
        ? subscriber
        : { next: subscriber ?? undefined, error: error ?? undefined, complete: complete ?? undefined };
    return super.subscribe(guarded(observer, this.onThrow));
  }
}

function guarded<T>(observer: Partial<Observer<T>>, onThrow: OnThrow): Observer<T> {
  const guard =
    <A extends unknown[]>(callback: (...args: A) => unknown) =>
    (...args: A): void => {
      try {
        const returned = callback(...args);
        if (types.isPromise(returned)) returned.catch(onThrow);
      } catch (error) {
        onThrow(error);
      }
    };
  return {
    next: guard((value: T) => observer.next?.(value)),
    error: guard(observer.error?.bind(observer) ?? onThrow),
    complete: guard(() => observer.complete?.()),
  };
}
