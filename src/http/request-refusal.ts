/** A request to the tracking API is not taken: the status, and what its sender can do about it. */
export class RequestRefusal extends Error {
  /**
   * @param code stable identifier of the reason, as it stands in the answer
   * @param retryAfter milliseconds after which it is worth sending again
   */
  constructor(
    readonly status: 400 | 401 | 413 | 429 | 503,
    readonly code: string,
    message: string,
    readonly retryAfter?: number,
  ) {
    super(message);
    this.name = 'RequestRefusal';
  }
}
