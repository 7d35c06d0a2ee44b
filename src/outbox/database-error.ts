/** PostgreSQL's error code for a user who lacks a privilege. */
export const INSUFFICIENT_PRIVILEGE = '42501';

/** Maximum number of errors to look at, with the outermost: libraries wrap the error of their driver. */
const MAX_DEPTH = 5;

/** Returns the codes of an error and of the errors that it wraps, the outermost first. */
export function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < MAX_DEPTH && typeof current === 'object' && current !== null; depth++) {
    // Prisma's driver adapters call the code `originalCode`.
    for (const key of ['code', 'originalCode']) {
      const code: unknown = Reflect.get(current, key);
      if (typeof code === 'string') codes.push(code);
    }
    current = innerOf(current);
  }
  return codes;
}

function innerOf(error: object): unknown {
  for (const key of ['cause', 'driverError', 'originalError', 'previous', 'meta', 'driverAdapterError']) {
    const inner: unknown = Reflect.get(error, key);
    if (typeof inner === 'object' && inner !== null) return inner;
  }
  return undefined;
}

/** Rows that are in the queue could not be deleted. The reason is the `cause`. */
export class RemovalError extends Error {
  constructor(cause: unknown) {
    super('Rows of the outbox could not be deleted.', { cause });
  }
}
