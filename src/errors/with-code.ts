import type { AnalyticsError } from './analytics.error.js';

/** What the log says of an error: its text, with its code at the end for whoever looks for that. */
export function withCode({ message, code }: AnalyticsError): string {
  return message.endsWith('.') ? `${message.slice(0, -1)} (${code}).` : `${message} (${code})`;
}
