import { types } from 'node:util';
import { Observable, type Observer, type Operator, Subject, Subscriber, type Subscription } from 'rxjs';

type OnThrow = (error: unknown) => void;
type Subscribable<T> = Partial<Observer<T>> | ((value: T) => void) | null;

/**
 * Shields the process from errors that a subscriber throws: rxjs would rethrow them where nobody can catch
 * them. An operator's error belongs to the subscriber and goes to its `error` handler, if it has one.
 */
class GuardedObservable<T> extends Observable<T> {
  constructor(
    inner: Observable<T>,
    private readonly onThrow: OnThrow,
  ) {
    super((subscriber) => inner.subscribe(subscriber));
  }

  /** What `pipe` returns is guarded as well. */
  /* eslint-disable @typescript-eslint/no-deprecated -- RxJS 7 makes each of its operators with it */
  override lift<R>(this: Observable<T>, operator?: Operator<T, R>): Observable<R> {
    const lifted = super.lift(operator);
    // `publish` and `multicast` give this method to an Observable of theirs.
    return this instanceof GuardedObservable ? new GuardedObservable(lifted, this.onThrow) : lifted;
  }
  /* eslint-enable @typescript-eslint/no-deprecated */

  override subscribe(
    subscriber?: Subscribable<T>,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // That of an operator, whose own subscriber is guarded.
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

/**
 * Events for the application. They cost nothing without subscribers, and no subscriber can harm the emitter.
 */
export class EventChannel<T> {
  readonly events$: Observable<T>;
  private readonly subject = new Subject<T>();

  /** @param onThrow called with what a subscriber threw; it stays subscribed, unless one of its operators did */
  constructor(onThrow: OnThrow) {
    // What is called at the end of a subscription, as by `finalize`, throws at whoever ends it: here, the emitter.
    const source = new Observable<T>((subscriber) => this.subject.subscribe(guarded(subscriber, onThrow)));
    this.events$ = new GuardedObservable(source, onThrow);
  }

  get isObserved(): boolean {
    return this.subject.observed;
  }

  emit(event: T): void {
    this.subject.next(event);
  }

  /** No more events follow. */
  complete(): void {
    this.subject.complete();
  }
}
