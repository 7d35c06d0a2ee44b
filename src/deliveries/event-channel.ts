import { type Observable, Subject } from 'rxjs';
import { GuardedObservable, type OnThrow } from './guarded-observable.js';

/**
 * Events for the application. They cost nothing without subscribers, and no subscriber can harm the emitter.
 */
export class EventChannel<T> {
  readonly events$: Observable<T>;
  private readonly subject = new Subject<T>();

  /** @param onThrow called with what a subscriber threw; it stays subscribed unless one of its operators threw */
  constructor(onThrow: OnThrow) {
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
