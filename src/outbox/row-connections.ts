import type { SourceConnection } from '../client/router.js';
import { DEFAULT_FAILED_RETENTION } from '../options/resolve-webhooks.js';

/** The route of a row to one destination. */
export interface RowConnection extends Pick<SourceConnection, 'source' | 'destination' | 'failedRetention'> {
  /** Marks of the row, if this process does not know the destination and so has no marks for it. */
  readonly marks?: string[] | undefined;
}

export interface RowConnectionsParts {
  /** Name of the source. */
  source: string;
  /** Ids of the destinations in its writer's options that take the row; `undefined` if the row does not say. */
  meantFor: readonly string[] | undefined;
  /** Ids of the destinations that are left, as a relay found; `null` before a relay has stored them. */
  left: readonly string[] | null;
  /** Marks by which the row's application recognizes it. */
  marks: string[] | undefined;
  /** The row's connections to destinations in this process's options; `undefined` if they are not known. */
  configured: readonly SourceConnection[] | undefined;
  /** The same, with connections to destinations at run time. */
  found: readonly SourceConnection[];
}

/**
 * Returns where a row goes. A row that names the destinations that are left goes to each of them, like a message in the
 * queue. The worker keeps it for a destination that was disabled since, and drops it for a deleted destination.
 */
export function rowConnections({ left, ...parts }: RowConnectionsParts): readonly RowConnection[] {
  const routed = routedConnections(parts);
  if (left === null) return routed;
  const { source, meantFor, marks } = parts;
  const known = new Map(routed.map((connection) => [connection.destination, connection]));
  return Array.from(new Set(left), (destination) => {
    // The id of a destination at run time is unique, so its messages have no marks.
    const isOfRunTime = meantFor?.includes(destination) === false;
    const unknown = { source, destination, failedRetention: DEFAULT_FAILED_RETENTION };
    return known.get(destination) ?? (isOfRunTime ? unknown : { ...unknown, marks });
  });
}

/**
 * Returns where a row goes according to `meantFor`. As with a call that is queued at once, the options of the writer
 * decide which of their destinations take the row. During a deploy, the writer may know destinations that this process
 * does not know. A job for them waits for a worker that does. Destinations at run time are those that are found.
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
