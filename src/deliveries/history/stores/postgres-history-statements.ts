import { missingIndex, SCHEMA, WITHOUT_SYNC } from '../../../queue/postgres/own-tables.js';
import { KEPT_ATTEMPTS, KEPT_ENTRIES, LEAST_REPLAY, MOST_AHEAD, ordinalOf } from '../history-store.js';
import type { RecentDelivery } from '../history.types.js';
import { HOUR, KEPT_HOURS } from '../hour-counts.js';
import { KEPT_MINUTES, MINUTE } from '../minute-counts.js';

export const ENTRIES = `${SCHEMA}.delivery_entry`;
const HOURS = `${SCHEMA}.delivery_hour`;
export const MINUTES = `${SCHEMA}.delivery_minute`;
export const WAITING_MESSAGES = `${SCHEMA}.delivery_waiting`;
const WRITERS = `${SCHEMA}.delivery_writer`;

/**
 * Every write of an entry also counts it in its hour. So the hours, which are few, show which destinations have old
 * entries. Minutes and waiting messages are those of all destinations together. Of each process that writes, the number
 * and the hour of its last write are stored.
 */
export const TABLES = `
  CREATE TABLE IF NOT EXISTS ${ENTRIES} (
    destination text COLLATE "C" NOT NULL,
    message_id text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    head text NOT NULL,
    attempts text[] NOT NULL,
    PRIMARY KEY (destination, message_id)
  );
  ${missingIndex('delivery_entry_order', `${ENTRIES} (destination, ordinal)`)}
  CREATE TABLE IF NOT EXISTS ${HOURS} (
    destination text COLLATE "C" NOT NULL,
    hour bigint NOT NULL,
    counts jsonb NOT NULL,
    PRIMARY KEY (destination, hour)
  );
  ${missingIndex('delivery_hour_time', `${HOURS} (hour)`)}
  CREATE TABLE IF NOT EXISTS ${MINUTES} (
    minute bigint PRIMARY KEY,
    counts jsonb NOT NULL
  );
  CREATE TABLE IF NOT EXISTS ${WAITING_MESSAGES} (
    length text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    messages bigint NOT NULL,
    PRIMARY KEY (length, number)
  );
  CREATE TABLE IF NOT EXISTS ${WRITERS} (
    writer uuid PRIMARY KEY,
    number bigint NOT NULL,
    hour bigint NOT NULL
  );`;

/** Hours after its last write for which the number of a writer is kept. */
const KEPT_NUMBERS = 24;

/**
 * SQL: the greatest credible ordinal. Entries with greater ordinals come from a clock that is, or was, minutes ahead.
 * The server's own clock may be behind those of all workers, so the later time counts.
 */
const latest = (now: string): string =>
  `(SELECT greatest(${now}::bigint * 1000, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + ${MOST_AHEAD})`;

/** SQL: the oldest period that is kept. A worker whose clock is ahead must not remove what others keep. */
const oldest = (now: string, length: number, kept: number): string =>
  `(SELECT least(${now}::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) / ${length} - ${kept - 1})`;
const oldestHour = (now: string): string => oldest(now, HOUR, KEPT_HOURS);
const oldestMinute = (now: string): string => oldest(now, MINUTE, KEPT_MINUTES);

/** SQL: the sums of a row's counts and the counts that are added to them. */
const sumOf = (row: string): string => `(
    SELECT jsonb_object_agg(name, total) FROM (
      SELECT name, sum(count::bigint) AS total FROM (
        SELECT * FROM jsonb_each_text(${row}.counts) UNION ALL SELECT * FROM jsonb_each_text(excluded.counts)
      ) AS both_counts (name, count) GROUP BY name
    ) AS totals
  )`;

/** SQL: whether a head says that its message is in a state. An event's name cannot say so: its quotes are escaped. */
const isIn = (row: string, state: RecentDelivery['state']): string =>
  `${row}.head LIKE '%"state":"${state}"%'`;

/** SQL: whether a message is in the state of the entry `row`, although the entry `other` may seem to be later. */
const outlasts = (row: string, other: string): string => `${isIn(other, 'retrying')} AND (
          ${isIn(row, 'delivered')}
          OR (${isIn(row, 'failed')} AND ${other}.ordinal <= ${row}.ordinal + ${LEAST_REPLAY})
        )`;

/**
 * $1 destinations, $2 message ids, $3 ordinals, $4 heads and $5 attempts (lines of a text) of entries; $6 destinations,
 * $7 hours and $8 counts; $9 minutes and $10 counts; $11 the time, in milliseconds since the epoch; $12 the writer and
 * $13 the number of the write. A write that comes again does nothing, since its number is stored. If the first one is
 * still running, its row keeps the second one waiting. All other rows are locked in one order, so that no two processes
 * wait for each other. An entry that keeps its head keeps its place.
 */
export const WRITE = `
  WITH turn AS (
    INSERT INTO ${WRITERS} AS w (writer, number, hour) VALUES ($12, $13, $11::bigint / ${HOUR})
    ON CONFLICT (writer) DO UPDATE SET number = excluded.number, hour = excluded.hour
    WHERE w.number < excluded.number
    RETURNING 1
  ), entries AS (
    INSERT INTO ${ENTRIES} AS e (destination, message_id, ordinal, head, attempts)
    SELECT destination, message_id, ordinal, head, string_to_array(attempts, E'\\n')
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[])
      AS given (destination, message_id, ordinal, head, attempts)
    WHERE EXISTS (SELECT 1 FROM turn)
    ORDER BY destination COLLATE "C", message_id COLLATE "C"
    ON CONFLICT (destination, message_id) DO UPDATE SET
      ordinal = CASE
        WHEN ${outlasts('e', 'excluded')} THEN e.ordinal
        WHEN ${outlasts('excluded', 'e')} OR e.ordinal > ${latest('$11')} THEN excluded.ordinal
        ELSE greatest(e.ordinal, excluded.ordinal)
      END,
      head = CASE
        WHEN ${outlasts('e', 'excluded')} THEN e.head
        WHEN ${outlasts('excluded', 'e')} THEN excluded.head
        WHEN e.ordinal > excluded.ordinal AND e.ordinal <= ${latest('$11')} THEN e.head
        ELSE excluded.head
      END,
      attempts = (e.attempts || excluded.attempts)
        [greatest(cardinality(e.attempts) + cardinality(excluded.attempts) - ${KEPT_ATTEMPTS - 1}, 1):]
  ), minutes AS (
    INSERT INTO ${MINUTES} AS m (minute, counts)
    SELECT minute, counts::jsonb FROM unnest($9::bigint[], $10::text[]) AS given (minute, counts)
    WHERE EXISTS (SELECT 1 FROM turn)
    ORDER BY minute
    ON CONFLICT (minute) DO UPDATE SET counts = ${sumOf('m')}
  )
  INSERT INTO ${HOURS} AS h (destination, hour, counts)
  SELECT destination, hour, counts::jsonb FROM unnest($6::text[], $7::bigint[], $8::text[])
    AS given (destination, hour, counts)
  WHERE EXISTS (SELECT 1 FROM turn) AND ${WITHOUT_SYNC}
  ORDER BY destination COLLATE "C", hour
  ON CONFLICT (destination, hour) DO UPDATE SET counts = ${sumOf('h')}`;

/** SQL: the ordinal of the last entry that is kept, of those that are ahead (`>`) or of the others (`<=`). */
const lastOf = (compared: '>' | '<='): string => `(
      SELECT ordinal FROM ${ENTRIES} WHERE destination = given.destination AND ordinal ${compared} ${latest('$2')}
      ORDER BY ordinal DESC OFFSET ${KEPT_ENTRIES - 1} LIMIT 1
    )`;

/**
 * $1 destinations, $2 the time, in milliseconds since the epoch. Removes the entries above the limit, and those that
 * are ahead once there are enough others. An entry that another process is writing is left for the next time.
 */
export const TRIM = `
  DELETE FROM ${ENTRIES} WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM unnest($1::text[]) AS given (destination)
    CROSS JOIN LATERAL (SELECT ${lastOf('<=')} AS last, ${lastOf('>')} AS last_ahead) AS kept
    JOIN ${ENTRIES} AS e ON e.destination = given.destination AND (
      e.ordinal < last OR (e.ordinal > ${latest('$2')} AND (last IS NOT NULL OR e.ordinal < last_ahead))
    )
    FOR UPDATE OF e SKIP LOCKED
  )) AND ${WITHOUT_SYNC}`;

/** $1 the time, in milliseconds since the epoch */
export const EXPIRE = `
  WITH gone AS (DELETE FROM ${HOURS} WHERE hour < ${oldestHour('$1')} RETURNING destination),
    minutes AS (DELETE FROM ${MINUTES} WHERE minute < ${oldestMinute('$1')}),
    writers AS (DELETE FROM ${WRITERS} WHERE hour < ${oldest('$1', HOUR, KEPT_NUMBERS)})
  DELETE FROM ${ENTRIES} AS e USING (SELECT DISTINCT destination FROM gone) AS old
  WHERE e.destination = old.destination AND e.ordinal < ${oldestHour('$1')} * ${ordinalOf(HOUR)} AND ${WITHOUT_SYNC}`;

/**
 * $1 messages that wait; $2 the time, in milliseconds since the epoch, $3 its minute and $4 its hour. The table has few
 * rows, so old rows are removed each time.
 */
export const NOTE_WAITING = `
  WITH gone AS (
    DELETE FROM ${WAITING_MESSAGES}
    WHERE (length = 'minute' AND number < ${oldestMinute('$2')}) OR (length = 'hour' AND number < ${oldestHour('$2')})
  )
  INSERT INTO ${WAITING_MESSAGES} AS w (length, number, messages)
  SELECT * FROM (VALUES ('hour', $4::bigint, $1::bigint), ('minute', $3, $1)) AS given WHERE ${WITHOUT_SYNC}
  ON CONFLICT (length, number) DO UPDATE SET messages = excluded.messages WHERE w.messages < excluded.messages`;

/** $1 destination, $2 the oldest ordinal, $3 limit, $4 the time, in milliseconds since the epoch */
export const RECENT = `
  SELECT message_id, ordinal::text, head, to_json(attempts) AS attempts FROM ${ENTRIES}
  WHERE destination = $1 AND ordinal >= $2
  ORDER BY ordinal > ${latest('$4')}, ordinal DESC LIMIT $3`;

/** $1 destination, $2 the first hour, $3 the last hour */
export const STATS = `
  SELECT hour::text AS number, counts::text FROM ${HOURS} WHERE destination = $1 AND hour BETWEEN $2 AND $3`;

/** $1 the first minute, $2 the last minute */
export const TOTALS = `
  SELECT minute::text AS number, counts::text FROM ${MINUTES} WHERE minute BETWEEN $1 AND $2`;

/** $1 the length of the periods, $2 the first period, $3 the last period */
export const WAITING = `
  SELECT number::text, messages::text FROM ${WAITING_MESSAGES} WHERE length = $1 AND number BETWEEN $2 AND $3`;

/** $1 destination. Removes hours first, as `WRITE` locks them: the statement in `WITH` runs after the main one. */
export const FORGET = `
  WITH entries AS (DELETE FROM ${ENTRIES} WHERE destination = $1)
  DELETE FROM ${HOURS} WHERE destination = $1`;
