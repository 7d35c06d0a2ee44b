import { AnalyticsError } from './analytics.error.js';

/**
 * A receiver's host is, or resolves to, an address that is not on the public internet. The connection
 * was refused before anything was sent: otherwise a webhook URL could reach the services next to us.
 */
export class AddressRefusedError extends AnalyticsError {
  readonly code = 'ADDRESS_REFUSED';

  constructor() {
    super(
      'The receiver has a private or reserved address, so nothing was sent. ' +
        'Use a public host, or set `allowPrivateNetwork: true` on the webhooks destination if that is intended.',
    );
  }
}
