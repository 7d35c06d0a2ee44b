/** How long rows are claimed, in milliseconds. Those of a process that was killed are moved after it. */
export const CLAIM = 15_000;
/** How often a claim is renewed while rows cannot be moved or deleted, in milliseconds. */
export const RENEWAL = 5_000;
