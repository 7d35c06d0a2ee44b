import type { AnalyticsError } from './analytics.error.js';

/** Returns the log text of an error: its message, followed by its code, which can be searched for. */
export function withCode({ message, code }: AnalyticsError): string {
  return message.endsWith('.') ? `${message.slice(0, -1)} (${code}).` : `${message} (${code})`;
}
