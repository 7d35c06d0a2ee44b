import { isRecord } from './option-reader.js';

/** A time that is so short that it was probably meant in seconds. */
export interface SmallTime {
  /** Path of the option, such as `webhooks[0].timeout`. */
  path: string;
  /** In milliseconds. */
  value: number;
}

/** The shortest plausible times in milliseconds, by option name. 0 is allowed, since it has a meaning of its own. */
type Shortest = Readonly<Record<string, number>>;

const OF_MODULE: Shortest = { shutdownTimeout: 100, unknownJobTimeout: 1_000 };
const OF_WEBHOOKS: Shortest = { timeout: 100, retryWindow: 1_000, failedRetention: 1_000 };
const OF_DESTINATIONS: Shortest = { disableAfter: 1_000 };
const OF_CUSTOM: Shortest = { timeout: 100, retryWindow: 1_000 };

/**
 * Returns the times among the options that were probably given in seconds. They are allowed: a test may want them.
 *
 * @param given the options as given, already checked
 */
export function smallTimes(given: unknown): SmallTime[] {
  if (!isRecord(given)) return [];
  return [
    ...timesOf(given, '', OF_MODULE),
    ...eachOf(given.webhooks, 'webhooks', OF_WEBHOOKS),
    ...timesOf(given.destinations, 'destinations', OF_DESTINATIONS),
    ...eachOf(given.customDestinations, 'customDestinations', OF_CUSTOM),
  ];
}

function eachOf(options: unknown, path: string, shortest: Shortest): SmallTime[] {
  if (!Array.isArray(options)) return timesOf(options, path, shortest);
  return options.flatMap((one: unknown, index) => timesOf(one, `${path}[${index}]`, shortest));
}

function timesOf(options: unknown, path: string, shortest: Shortest): SmallTime[] {
  if (!isRecord(options)) return [];
  return Object.entries(shortest).flatMap(([name, least]) => {
    const value = options[name];
    if (typeof value !== 'number' || value <= 0 || value >= least) return [];
    return [{ path: path === '' ? name : `${path}.${name}`, value }];
  });
}
