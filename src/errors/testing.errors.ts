import { AnalyticsError } from './analytics.error.js';

/** A test waited for something that did not arrive in time. */
export class WaitTimeoutError extends AnalyticsError {
  readonly code = 'WAIT_TIMEOUT';

  /**
   * @param awaited what the test waited for
   * @param arrived what arrived until then
   */
  constructor(awaited: string, timeout: number, arrived: string) {
    super(`Waited ${timeout} ms for ${awaited}. What has arrived: ${arrived}.`);
  }
}
