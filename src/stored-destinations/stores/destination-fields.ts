import type { StoredDestination } from '../../options/destination-store.js';

/** All fields that this module may give a store, except those that every destination has. Add new fields here. */
export const FIELDS: Required<
  Omit<StoredDestination, 'id' | 'tenant' | 'urls' | 'createdAt' | 'updatedAt' | 'version'>
> = {
  name: 'Hooks "of" Æcme\u0000\u2028',
  description: 'All orders',
  events: ['Order Completed', 'Invoice *'],
  types: ['track', 'identify'],
  sources: ['web'],
  timeout: 1_000,
  retryWindow: 60_000,
  retryStatuses: ['5xx', 429],
  rateLimit: 0.5,
  metadata: { plan: { seats: 5 } },
  enabled: false,
  disabledReason: 'asked for',
  failingSince: 1_795_253_400_001,
  noted: { since: 1, version: 1 },
  headers: { 'X-Team': 'one' },
  sharedSecret: 'teehee',
  standardWebhooks: { secret: 'whsec_bmV3' },
  retiring: [{ secret: 'whsec_b2xk', until: 1_795_253_400_002 }],
  sealed: 'v1.key.text',
};
