/**
 * What every error of this module has in common: a stable `code` to branch on and to look up in the
 * README, and a text that says what to do.
 */
export abstract class AnalyticsError extends Error {
  /** Stable identifier of the kind of error; texts may change, codes do not. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
