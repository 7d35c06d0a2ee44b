import type { SourceConnection } from '../client/router.js';
import { DEFAULT_FAILED_RETENTION } from '../options/resolve-webhooks.js';

/** The way of a row to one destination. */
export interface RowConnection extends Pick<SourceConnection, 'source' | 'destination' | 'failedRetention'> {
  /** Those of the row, to a destination that this process does not know and so cannot mark. */
  readonly marks?: string[] | undefined;
}

export interface RowConnectionsParts {
  /** Name of the source. */
  source: string;
  /** Ids of the destinations of the options that its writer meant; `undefined` if it does not say so. */
  meantFor: readonly string[] | undefined;
  /** Ids of those that are left, as a relay has found; `null` before one has looked. */
  left: readonly string[] | null;
  /** By which its application knows it. */
  marks: string[] | undefined;
  /** Those that this process would mean; `undefined` if that is not known. */
  configured: readonly SourceConnection[] | undefined;
  /** The same with those at run time. */
  found: readonly SourceConnection[];
}

/**
 * Where a row goes. One that names what is left of its destinations goes to each of them, as a message in the queue
 * does: the worker keeps it for one that was disabled since, and drops it for one that was deleted.
 */
export function rowConnections({ left, ...parts }: RowConnectionsParts): readonly RowConnection[] {
  const routed = routedConnections(parts);
  if (left === null) return routed;
  const { source, meantFor, marks } = parts;
  const known = new Map(routed.map((connection) => [connection.destination, connection]));
  return Array.from(new Set(left), (destination) => {
    // The id of a destination at run time is unique, so that its messages have no marks.
    const isOfRunTime = meantFor?.includes(destination) === false;
    const unknown = { source, destination, failedRetention: DEFAULT_FAILED_RETENTION };
    return known.get(destination) ?? (isOfRunTime ? unknown : { ...unknown, marks });
  });
}

/**
 * Where a row goes whose writer says what it meant: as with a call that is queued at once, the options of the writer
 * count for the destinations that they name. During a deploy, its version may know some that this one does not, and a
 * job for them waits for a worker that does. Destinations at run time are those that are found.
 */
function routedConnections({
  source,
  meantFor,
  marks,
  configured,
  found,
}: Omit<RowConnectionsParts, 'left'>): readonly RowConnection[] {
  if (meantFor === undefined || configured === undefined) return found;
  const known = new Map(configured.map((connection) => [connection.destination, connection]));
  const meant = meantFor.map(
    (destination) =>
      known.get(destination) ?? { source, destination, failedRetention: DEFAULT_FAILED_RETENTION, marks },
  );
  return [...meant, ...found.filter((connection) => known.get(connection.destination) !== connection)];
}
