import { AnalyticsClosedError } from '../errors/message.errors.js';

/** Returns the parts that a service works with. @throws AnalyticsClosedError once the application has closed */
export type WhileOpen<T> = () => T;

/**
 * Knows whether the application has closed. A closed database may answer with an error of its driver, or never, so
 * services get their parts through this.
 */
export class ApplicationEnd {
  private hasBegun = false;

  get isReached(): boolean {
    return this.hasBegun;
  }

  /** Called before the connections are closed. From then on, nothing that needs them is begun. */
  begin(): void {
    this.hasBegun = true;
  }

  /** Returns a function that returns the parts until the application closes. */
  guarding<T>(parts: T): WhileOpen<T> {
    return () => {
      if (this.hasBegun) throw new AnalyticsClosedError();
      return parts;
    };
  }
}
