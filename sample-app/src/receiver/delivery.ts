/**
 * What the receiver did with a request:
 * - `verified`: it was signed, and is kept.
 * - `refused`: it was signed, and was answered with 503, so it is sent again.
 * - `rejected`: it was signed, and was answered with 400, so it is not sent again.
 * - `not verified`: it was not signed with our secret, so anyone may have sent it.
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
