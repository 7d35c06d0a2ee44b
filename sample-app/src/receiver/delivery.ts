/**
 * What the receiver made of a request: it was signed and is kept; it was signed and turned away with 503,
 * to come again; it was signed and turned away with 400, for good; or it was not signed with our secret, and
 * anyone may have sent it.
 */
export type Verdict = 'verified' | 'refused' | 'rejected' | 'not verified';

/** A request as the page shows it. */
export interface Delivery {
  verdict: Verdict;
  /** ISO 8601. */
  receivedAt: string;
  /** `webhook-id`: the same on every attempt of one event. */
  id: string;
  signature: string;
  body: unknown;
}
