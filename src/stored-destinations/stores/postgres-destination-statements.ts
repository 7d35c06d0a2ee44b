import { missingIndex, SCHEMA } from '../../queue/postgres/own-tables.js';
import { DELETED_MEMORY, KEPT_CHANGES, NO_CHANGE } from '../destination-feed.js';

/** True of all disabled destinations, and of a destination whose `metadata` has such a field. */
const MAY_BE_DISABLED = `record LIKE '%"enabled":false%'`;

/**
 * A record is JSON text, empty for a deleted destination. A tenant that is an empty text stands for none. The
 * number of a tenant's destinations has a row of its own. Each insert locks this row, so that two inserts at the
 * same time cannot exceed the limit.
 */
export const TABLES = `
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.destination (
    id text COLLATE "C" PRIMARY KEY,
    tenant text NOT NULL,
    version integer NOT NULL,
    record text NOT NULL,
    deleted_at timestamptz
  );
  ${missingIndex('destination_tenant_index', `${SCHEMA}.destination (tenant, id) WHERE deleted_at IS NULL`)}
  ${missingIndex(
    'destination_deleted_index',
    `${SCHEMA}.destination (deleted_at) WHERE deleted_at IS NOT NULL`,
  )}
  ${missingIndex('destination_disabled_index', `${SCHEMA}.destination (id) WHERE ${MAY_BE_DISABLED}`)}
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.destination_tenant (
    tenant text PRIMARY KEY,
    destinations integer NOT NULL
  );
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.destination_change (
    revision bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    change text NOT NULL
  )`;

/**
 * A lock number that nothing else uses. With a prefix, the name of the application's schema replaces the first of these
 * two names, so that the number is another one. Without a prefix, the names are the same and cancel out: the number is
 * then also that of older processes, which may run beside this one during a deploy.
 */
const CHANGE_LOCK = `4712366096 + hashtext('${SCHEMA}') - hashtext('nestjs' || '_analytics')`;

/**
 * Records a change in the same statement as its write. Revisions are assigned under a lock that lasts until the
 * statement is committed: otherwise a reader could see a revision before the one that precedes it. A statement has to
 * take this lock last. So `cause` has to read all parts that take other locks: PostgreSQL runs a part that nothing
 * reads after all others, and two statements would wait for each other.
 */
const logged = (change: string, cause: string): string => `
  locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${CHANGE_LOCK}) FROM ${cause}),
  logged AS (
    INSERT INTO ${SCHEMA}.destination_change (change) SELECT ${change} FROM locked RETURNING revision
  ), trimmed AS (
    DELETE FROM ${SCHEMA}.destination_change USING logged
    WHERE destination_change.revision <= logged.revision - ${KEPT_CHANGES}
  )`;

/** A change as the text by which readers name it. */
const CHANGE_TEXT = `revision || ' ' || change`;

const LATEST = `coalesce(
    (SELECT ${CHANGE_TEXT} FROM ${SCHEMA}.destination_change ORDER BY revision DESC LIMIT 1), '${NO_CHANGE}'
  )`;

/** The first row has the latest change instead of a record. */
const withLatest = (records: string): string => `SELECT ${LATEST} AS record UNION ALL (${records})`;

/** $1 tenant */
export const FIND_BY_TENANT = withLatest(`
  SELECT record FROM ${SCHEMA}.destination WHERE tenant = $1 AND deleted_at IS NULL ORDER BY id`);

/** $1 id */
export const FIND_BY_ID = withLatest(`SELECT record FROM ${SCHEMA}.destination WHERE id = $1`);

/**
 * $1 the id to start after, $2 limit. Does not use `deleted_at`: on a table that was not analysed yet, the planner
 * would read the whole index with this column, and sort.
 */
export const LIST_ALL = `
  SELECT record FROM ${SCHEMA}.destination WHERE id > $1 AND record <> '' ORDER BY id LIMIT $2`;

/** $1 the id to start after, $2 limit */
export const LIST_DISABLED = `
  SELECT record FROM ${SCHEMA}.destination WHERE id > $1 AND ${MAY_BE_DISABLED} ORDER BY id LIMIT $2`;

/** $1 the id to start after, $2 limit, $3 tenant */
export const LIST_OF_TENANT = `
  SELECT record FROM ${SCHEMA}.destination WHERE tenant = $3 AND id > $1 AND deleted_at IS NULL
  ORDER BY id LIMIT $2`;

/** $1 id, $2 tenant, $3 version, $4 record, $5 change, $6 limit */
export const INSERT = `
  WITH slot AS (
    INSERT INTO ${SCHEMA}.destination_tenant AS t (tenant, destinations) SELECT $2::text, 1 WHERE $6::bigint > 0
    ON CONFLICT (tenant) DO UPDATE SET destinations = t.destinations + 1 WHERE t.destinations < $6::bigint
    RETURNING tenant
  ), added AS (
    INSERT INTO ${SCHEMA}.destination (id, tenant, version, record)
    SELECT $1, tenant, $3::integer, $4 FROM slot RETURNING id
  ), ${logged('$5', 'added')}
  SELECT id FROM added`;

/** $1 id, $2 version, $3 record, $4 change */
export const REPLACE = `
  WITH changed AS (
    UPDATE ${SCHEMA}.destination SET version = $2::integer, record = $3
    WHERE id = $1 AND version = $2::integer - 1 AND deleted_at IS NULL
    RETURNING id
  ), ${logged('$4', 'changed')}
  SELECT id FROM changed`;

/** $1 id, $2 change */
export const REMOVE = `
  WITH gone AS (
    UPDATE ${SCHEMA}.destination SET record = '', deleted_at = now() WHERE id = $1 AND deleted_at IS NULL
    RETURNING id, tenant
  ), counted AS (
    UPDATE ${SCHEMA}.destination_tenant AS t SET destinations = t.destinations - 1
    FROM gone WHERE t.tenant = gone.tenant
    RETURNING 1
  ), done AS (
    SELECT count(*) FROM counted HAVING (SELECT count(*) FROM gone) > 0
  ), forgotten AS (
    DELETE FROM ${SCHEMA}.destination
    WHERE deleted_at < now() - interval '${DELETED_MEMORY / 1_000} seconds'
  ), ${logged('$2', 'done')}
  SELECT id FROM gone`;

/** $1 change */
export const PUBLISH = `
  WITH cause AS (SELECT 1), ${logged('$1', 'cause')} SELECT revision FROM logged`;

/** $1 a revision. The first row has the latest change, and the others the changes from this revision on, in order. */
export const CHANGES_SINCE = `
  SELECT ${LATEST} AS change
  UNION ALL
  (SELECT ${CHANGE_TEXT} FROM ${SCHEMA}.destination_change WHERE revision >= $1::bigint ORDER BY revision)`;
