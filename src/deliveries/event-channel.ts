import { types } from 'node:util';
import { Observable, type Observer, Subject, Subscriber, type Subscription } from 'rxjs';

type Next<T> = (value: T) => unknown;
type Subscribable<T> = Partial<Observer<T>> | ((value: T) => void) | null;

/**
 * Shields the process from errors that a subscriber throws: rxjs would rethrow them where nobody can catch
 * them. An operator's error belongs to the subscriber and goes to its `error` handler.
 */
class GuardedObservable<T> extends Observable<T> {
  constructor(
    subject: Subject<T>,
    private readonly onThrow: (error: unknown) => void,
  ) {
    super((subscriber) => subject.subscribe(subscriber));
  }

  override subscribe(
    subscriber?: Subscribable<T>,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    if (subscriber instanceof Subscriber) return super.subscribe(subscriber);
    const observer: Partial<Observer<T>> =
      typeof subscriber === 'object' && subscriber !== null
        ? subscriber
        : { next: subscriber ?? undefined, error: error ?? undefined, complete: complete ?? undefined };
    return super.subscribe({
      next: this.guard((value) => observer.next?.(value)),
      error: (reason) => observer.error?.(reason),
      complete: () => observer.complete?.(),
    });
  }

  private guard(next: Next<T>): (value: T) => void {
    return (value) => {
      try {
        const returned = next(value);
        if (types.isPromise(returned)) returned.catch(this.onThrow);
      } catch (error) {
        this.onThrow(error);
      }
    };
  }
}

/**
 * Events for the application. They cost nothing without subscribers, and no subscriber can harm the emitter.
 */
export class EventChannel<T> {
  readonly events$: Observable<T>;
  private readonly subject = new Subject<T>();

  /** @param onThrow called with what a subscriber threw; it stays subscribed */
  constructor(onThrow: (error: unknown) => void) {
    this.events$ = new GuardedObservable(this.subject, onThrow);
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
