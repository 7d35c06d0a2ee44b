/** The rule for the name of a tenant, for error messages. */
export const TENANT_NAME = '1 to 200 characters without control characters';

const NAME = /^[^\p{Cc}]{1,200}$/u;

/** Whether a value can be the name of a tenant, which is a key in the databases of the queue. */
export function isTenantName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value) && value.isWellFormed();
}
