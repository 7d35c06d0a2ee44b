/** Why rows that are in the queue could not be deleted is its `cause`. */
export class RemovalError extends Error {
  constructor(cause: unknown) {
    super('Rows of the outbox could not be deleted.', { cause });
  }
}
