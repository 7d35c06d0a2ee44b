/** Statuses that a refused request is answered with. */
export type RefusalStatus = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 422 | 429 | 500 | 501 | 503;

/** Refuses an HTTP request, with its status and what the sender can do about it. */
export class RequestRefusal extends Error {
  /**
   * @param code stable identifier of the reason, which the answer contains
   * @param retryAfter milliseconds after which the sender should try again
   * @param closes whether the connection closes even if little of the body is still to come
   */
  constructor(
    readonly status: RefusalStatus,
    readonly code: string,
    message: string,
    readonly retryAfter?: number,
    readonly closes = false,
  ) {
    super(message);
    this.name = 'RequestRefusal';
  }
}
