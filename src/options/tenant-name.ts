/** What a tenant may be called, for error messages. */
export const TENANT_NAME = '1 to 200 characters without control characters';

const NAME = /^[^\p{Cc}]{1,200}$/u;

/** Whether destinations can belong to a tenant of this name: it is a key in the databases of the queue. */
export function isTenantName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value) && value.isWellFormed();
}
