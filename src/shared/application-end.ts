import { AnalyticsClosedError } from '../errors/message.errors.js';

/** Gives what a service works with. @throws AnalyticsClosedError once the application has closed */
export type WhileOpen<T> = () => T;

/**
 * Knows whether the application has closed. A database that is closed may answer with an error of its driver's, or never,
 * so services get what they work with through this.
 */
export class ApplicationEnd {
  private hasBegun = false;

  get isReached(): boolean {
    return this.hasBegun;
  }

  /** The connections are about to be closed: nothing that needs them is begun any more. */
  begin(): void {
    this.hasBegun = true;
  }

  /** The same parts until then. */
  guarding<T>(parts: T): WhileOpen<T> {
    return () => {
      if (this.hasBegun) throw new AnalyticsClosedError();
      return parts;
    };
  }
}
