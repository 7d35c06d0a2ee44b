/** Version of the table and of its rows. The comment on the table states this version. */
export const OUTBOX_VERSION = 1;

/**
 * Channel that wakes the relays when a transaction that wrote to an outbox is committed. The payload names the table.
 * Older versions send an empty payload.
 */
export const OUTBOX_CHANNEL = 'nestjs_analytics_outbox';

/** Due time of rows that no relay has claimed yet, as text. */
export const NEVER_CLAIMED = '-infinity';

/** Due time of rows that wait for room at a destination. No relay claims them until there is room. */
const WAITING = '9999-01-01T00:00:00Z';

/** Columns that a relay reads. `WRITTEN_COLUMNS` are the columns that it writes. */
const READ_COLUMNS = [
  'id',
  'version',
  'source',
  'message',
  'created_at',
  'due_at',
  'destinations',
  'problem',
];
const WRITTEN_COLUMNS = ['due_at', 'destinations', 'problem'];

const COMMENT = 'nestjs-analytics outbox, version';
/** Number of a lock that nothing else uses: `CREATE … IF NOT EXISTS` fails if two of them run at once. */
const MIGRATION_LOCK = 4_712_366_097;

/** Sums up bytes only after the rows are locked: before, it is not known which rows other relays hold. */
const FIRST_DUE = `
        SELECT * FROM (
          SELECT *, sum(bytes) OVER (ORDER BY due_at = '${NEVER_CLAIMED}', due_at, id) - bytes AS before FROM due
        ) AS summed WHERE before < $3::int
      `;

/** The statements of one outbox. Its names were checked, so they need no escaping. */
export interface OutboxTable {
  /** Name of the table with its schema, for error messages. */
  readonly name: string;
  /** Name of the table with its schema, quoted for statements. */
  readonly quotedName: string;
  readonly quotedSchema: string;
  /** Returns the version that a table's comment states, or NaN if it states none. */
  versionOf(comment: string | null): number;
  /** Creates what is missing: SQL for people to read, change and run. */
  readonly create: string;
  /** The same in one statement, which any driver can run, even in any number of processes at once. */
  readonly migrate: string;
  /** Reads the table's comment, if there is one, and the privileges that this user has on the table. */
  readonly look: string;
  /** $1 source, $2 message. */
  readonly insert: string;
  /**
   * $1 duration in milliseconds, $2 maximum number of rows, $3 maximum number of bytes, which the last row may exceed,
   * $4 id after which new rows are claimed, $5 milliseconds for which rows that were claimed before may have been due,
   * or null for no limit, $6 maximum number of these rows. Claims due rows that no other relay has claimed, first those
   * that were claimed before.
   */
  readonly claim: string;
  /** $1 ids, $2 milliseconds, $3 problems: '' for none, null for no change. Sets when rows may be claimed again. */
  readonly postpone: string;
  /** $1 ids. Deletes rows, and returns how many it deleted. */
  readonly remove: string;
  /** $1 ids. Returns the ids of rows that are still there. */
  readonly find: string;
  /**
   * $1 ids, $2 destinations that are left, or null for no change. Makes rows wait for room at one of them, and clears
   * their problems, since the process that makes the rows wait knows these rows.
   */
  readonly wait: string;
  /** $1 id, $2 how many rows to read after it. Returns rows that wait, by their destinations, with their sizes. */
  readonly waiting: string;
  /** $1 duration in milliseconds, $2 ids. Claims those of the rows that wait. */
  readonly claimWaiting: string;
  /** $1 ids, $2 problem. Sets rows aside: they stay in the table and are not moved. */
  readonly setAside: string;
  /**
   * Counts the rows, and returns the age of the oldest row that waits, and the highest known id that no unclaimed row
   * has, nor any row with a lower id.
   */
  readonly status: string;
}

/** Returns the statements of an outbox. Rows are due at `-infinity` until claimed, and at `infinity` once set aside. */
export function outboxTable(schema: string, table: string): OutboxTable {
  const name = `"${schema}"."${table}"`;
  const ddl = `CREATE TABLE IF NOT EXISTS ${name} (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  version smallint NOT NULL,
  source text NOT NULL,
  message text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  due_at timestamptz NOT NULL DEFAULT '${NEVER_CLAIMED}',
  destinations text[],
  problem text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX IF NOT EXISTS "${table}_due" ON ${name} (due_at, id);
COMMENT ON TABLE ${name} IS '${COMMENT} ${OUTBOX_VERSION}';`;
  const until = (parameter: string): string =>
    `clock_timestamp() + ${parameter}::float8 * interval '1 millisecond'`;
  const locked = (which: string): string =>
    `SELECT id, due_at, octet_length(message) AS bytes FROM ${name} WHERE ${which} FOR UPDATE SKIP LOCKED`;
  const claim = (due: string, taken = 'TABLE due'): string => `
      WITH ${due}, taken AS (${taken}), until AS MATERIALIZED (SELECT ${until('$1')} AS at)
      UPDATE ${name} AS o SET due_at = until.at FROM taken, until WHERE o.id = taken.id
      RETURNING o.id::float8 AS id, taken.due_at::text AS due, o.version, o.source, o.message, taken.bytes::float8 AS bytes,
        to_json(o.destinations) AS destinations, o.problem,
        extract(epoch FROM clock_timestamp() - o.created_at)::float8 * 1000 AS age`;
  return {
    name: `${schema}.${table}`,
    quotedName: name,
    quotedSchema: `"${schema}"`,
    versionOf: (comment) =>
      comment?.startsWith(COMMENT) === true ? Number(comment.slice(COMMENT.length)) : NaN,
    create: `${createSchema(schema)}${ddl}\n`,
    migrate: `DO $outbox$ BEGIN
PERFORM pg_advisory_xact_lock(${MIGRATION_LOCK});
IF to_regnamespace('"${schema}"') IS NULL THEN CREATE SCHEMA "${schema}"; END IF;
${ddl}
END $outbox$`,
    // Privileges may be granted on single columns.
    look: `
      SELECT obj_description(outbox, 'pg_class') AS comment,
        ${isGrantedOn(READ_COLUMNS, 'SELECT')} AS "SELECT",
        ${isGrantedOn(WRITTEN_COLUMNS, 'UPDATE')} AS "UPDATE",
        has_table_privilege(outbox, 'DELETE') AS "DELETE"
      FROM to_regclass('${name}') AS outbox`,
    // One statement, so that a call costs one round trip.
    insert:
      `INSERT INTO ${name} (version, source, message) ` +
      `SELECT ${OUTBOX_VERSION}, $1::text, $2::text FROM pg_notify('${OUTBOX_CHANNEL}', '${schema}.${table}')`,
    // `statement_timestamp()` can use the index. With `clock_timestamp()`, PostgreSQL would read all rows that wait.
    // No more unclaimed rows are locked than are needed: a query in `WITH` runs only as far as its rows are asked for.
    claim: claim(
      `again AS (${locked(`
        due_at > coalesce(statement_timestamp() - $5::float8 * interval '1 millisecond', '${NEVER_CLAIMED}')
        AND due_at <= statement_timestamp() ORDER BY due_at, id LIMIT $6::int`)}
      ), unclaimed AS (${locked(`
        (due_at, id) > ('${NEVER_CLAIMED}', $4::bigint) AND due_at <= '${NEVER_CLAIMED}'
        ORDER BY due_at, id LIMIT $2::int`)}
      ), due AS (SELECT * FROM (TABLE again UNION ALL TABLE unclaimed) AS found LIMIT $2::int)`,
      FIRST_DUE,
    ),
    postpone: `
      WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at)
      UPDATE ${name} AS o SET due_at = now.at + later.delay * interval '1 millisecond',
        problem = nullif(coalesce(later.problem, o.problem), '')
      FROM unnest($1::bigint[], $2::float8[], $3::text[]) AS later (id, delay, problem), now WHERE o.id = later.id`,
    remove: `
      WITH removed AS (DELETE FROM ${name} WHERE id = ANY($1::bigint[]) RETURNING id)
      SELECT count(*)::float8 AS count FROM removed`,
    find: `SELECT id::float8 AS id FROM ${name} WHERE id = ANY($1::bigint[])`,
    wait: `
      UPDATE ${name}
      SET destinations = coalesce($2::text[], destinations), due_at = '${WAITING}', problem = NULL
      WHERE id = ANY($1::bigint[])`,
    // The row comparison lets PostgreSQL read the rows in the order of the index on these columns.
    waiting: `
      SELECT to_json(destinations) AS destinations, json_agg(id::float8) AS ids, json_agg(bytes::float8) AS bytes
      FROM (
        SELECT id, destinations, octet_length(message) AS bytes FROM ${name}
        WHERE (due_at, id) > ('${WAITING}', $1::bigint) AND due_at < 'infinity'
        ORDER BY due_at, id LIMIT $2::int
      ) AS page GROUP BY destinations`,
    claimWaiting: claim(`due AS (${locked(`id = ANY($2::bigint[]) AND due_at = '${WAITING}'`)})`),
    setAside: `UPDATE ${name} SET problem = $2::text, due_at = 'infinity' WHERE id = ANY($1::bigint[])`,
    status: `
      SELECT count(*) FILTER (WHERE due_at < 'infinity')::float8 AS waiting,
        count(*) FILTER (WHERE due_at = 'infinity')::float8 AS "setAside",
        extract(epoch FROM clock_timestamp() - min(created_at) FILTER (WHERE due_at < 'infinity'))::float8
          * 1000 AS "oldestAge",
        coalesce(min(id) FILTER (WHERE due_at = '${NEVER_CLAIMED}') - 1, max(id))::float8 AS "newAfter"
      FROM ${name}`,
  };
}

/** Returns no statement for `public`, which exists: even `IF NOT EXISTS` needs the privilege to create schemas. */
function createSchema(schema: string): string {
  if (schema === 'public') return '';
  const hint = '-- Leave out the next line if the schema exists and you may not create one.';
  return `${hint}\nCREATE SCHEMA IF NOT EXISTS "${schema}";\n`;
}

function isGrantedOn(columns: readonly string[], privilege: string): string {
  return `(SELECT bool_and(has_column_privilege(attrelid, attnum, '${privilege}')) FROM pg_attribute
          WHERE attrelid = outbox AND attname IN (${columns.map((column) => `'${column}'`).join(', ')}))`;
}
