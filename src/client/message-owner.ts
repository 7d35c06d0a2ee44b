import { TenantThrew } from '../destinations/tenant-threw.js';
import { isAbsent } from '../messages/message-checks.js';
import type { AnalyticsMessage } from '../messages/message.types.js';

export interface MessageOwnerOptions {
  /** Returns the tenant of a message if neither the call nor the source names one. */
  tenantOf: (message: AnalyticsMessage) => string | undefined;
  /** Called if `tenantOf` returns anything but a string or nothing. The message then belongs to no tenant. */
  onWrongTenant?: ((returned: unknown) => void) | undefined;
}

/** Finds the tenant that a message belongs to. */
export class MessageOwner {
  constructor(private readonly options: MessageOwnerOptions) {}

  /** Returns the tenant of a message, `''` if none, or `undefined` if `tenantOf` throws. */
  of(message: AnalyticsMessage, given: string | undefined): string | undefined {
    const owner = this.find(message, given);
    return typeof owner === 'string' ? owner : undefined;
  }

  /**
   * Returns the tenant of a message, `''` if none, or a `TenantThrew` if `tenantOf` throws.
   *
   * @param given the tenant that the call or the source names
   */
  find(message: AnalyticsMessage, given: string | undefined): string | TenantThrew {
    if (given !== undefined) return given;
    try {
      const tenant: unknown = this.options.tenantOf(message);
      if (typeof tenant === 'string') return tenant;
      if (!isAbsent(tenant)) this.options.onWrongTenant?.(tenant);
      return '';
    } catch (error) {
      // The tenant is not guessed, and the call itself does not fail.
      return new TenantThrew(error);
    }
  }
}
