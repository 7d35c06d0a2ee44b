/** PostgreSQL's code for a user who may not do what it is asked for. */
export const INSUFFICIENT_PRIVILEGE = '42501';

/** How deep libraries wrap the error of their driver. */
const MAX_DEPTH = 5;

/** The codes of an error and of those that libraries have wrapped it around, the outermost first. */
export function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < MAX_DEPTH && typeof current === 'object' && current !== null; depth++) {
    // Prisma's driver adapters call it `originalCode`.
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

/** Why rows that are in the queue could not be deleted is its `cause`. */
export class RemovalError extends Error {
  constructor(cause: unknown) {
    super('Rows of the outbox could not be deleted.', { cause });
  }
}
