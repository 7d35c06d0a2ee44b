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
  /** By which its application knows it. */
  marks: string[] | undefined;
  /** Those that this process would mean; `undefined` if that is not known. */
  configured: readonly SourceConnection[] | undefined;
  /** The same with those at run time. */
  found: readonly SourceConnection[];
}

/**
 * Where a row goes whose writer says what it meant: as with a call that is queued at once, the options of the writer
 * count for the destinations that they name. During a deploy, its version may know some that this one does not, and a
 * job for them waits for a worker that does. Destinations at run time are those that are found.
 */
export function rowConnections({
  source,
  meantFor,
  marks,
  configured,
  found,
}: RowConnectionsParts): readonly RowConnection[] {
  if (meantFor === undefined || configured === undefined) return found;
  const known = new Map(configured.map((connection) => [connection.destination, connection]));
  const meant = meantFor.map(
    (destination) =>
      known.get(destination) ?? { source, destination, failedRetention: DEFAULT_FAILED_RETENTION, marks },
  );
  return [...meant, ...found.filter((connection) => known.get(connection.destination) !== connection)];
}
