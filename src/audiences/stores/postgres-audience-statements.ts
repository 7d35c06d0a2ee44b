import { SCHEMA } from './postgres-audience-schema.js';

/*
 * One statement is one transaction. A fenced one begins with the lock ($1 trait, $2 token), which it keeps
 * others from taking until it ends; where the lock is not held, `held` is empty and nothing is done.
 */
const HELD = `
  audience AS (SELECT id, generation FROM ${SCHEMA}.audience WHERE trait = $1),
  held AS MATERIALIZED (
    SELECT 1 FROM ${SCHEMA}.audience_lock
    WHERE trait = $1 AND kind = 'change' AND token = $2 AND expires_at > clock_timestamp() FOR SHARE
  )`;
const IS_HELD = 'EXISTS (SELECT 1 FROM held) AS held';
const OURS = 'EXISTS (SELECT 1 FROM held) AND m.audience = (SELECT id FROM audience)';

const until = (parameter: string): string =>
  `clock_timestamp() + ${parameter}::double precision * interval '1 millisecond'`;

/** $1 trait, $2 name, $3 kind */
export const REGISTER = `
  INSERT INTO ${SCHEMA}.audience (trait, name, kind) VALUES ($1, $2, $3) ON CONFLICT (trait) DO NOTHING`;

/** $1 trait */
export const FIND = `SELECT trait, name, kind FROM ${SCHEMA}.audience WHERE trait = $1`;

export const LIST = `SELECT trait, name, kind FROM ${SCHEMA}.audience`;

/** $1 trait, $2 kind, $3 token, $4 milliseconds */
export const LOCK = `
  INSERT INTO ${SCHEMA}.audience_lock AS l (trait, kind, token, expires_at) VALUES ($1, $2, $3, ${until('$4')})
  ON CONFLICT (trait, kind) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at
  WHERE l.expires_at <= clock_timestamp()
  RETURNING 1`;

/** $1 trait, $2 kind */
export const WANT = `
  UPDATE ${SCHEMA}.audience_lock SET wanted_until = clock_timestamp() + interval '1 second'
  WHERE trait = $1 AND kind = $2`;

/** $1 trait, $2 kind, $3 token, $4 milliseconds */
export const RENEW = `
  UPDATE ${SCHEMA}.audience_lock SET expires_at = ${until('$4')}
  WHERE trait = $1 AND kind = $2 AND token = $3 AND expires_at > clock_timestamp()
  RETURNING 1`;

/** $1 trait, $2 kind, $3 token */
export const UNLOCK = `
  DELETE FROM ${SCHEMA}.audience_lock WHERE trait = $1 AND kind = $2 AND token = $3
  RETURNING wanted_until > clock_timestamp() AS wanted`;

export const ADVANCE = `
  WITH ${HELD}, advanced AS (
    UPDATE ${SCHEMA}.audience AS a SET generation = a.generation + 1
    FROM audience WHERE EXISTS (SELECT 1 FROM held) AND a.id = audience.id
  )
  SELECT ${IS_HELD}`;

/** $3 users, $4 their values */
export const OFFER = `
  WITH ${HELD}, offered AS (
    INSERT INTO ${SCHEMA}.audience_member AS m (audience, user_id, generation, doubt)
    SELECT audience.id, entry.user_id, audience.generation, entry.value
    FROM held, audience, unnest($3::text[], $4::text[]) AS entry (user_id, value)
    ON CONFLICT (audience, user_id) DO UPDATE SET
      generation = excluded.generation,
      doubt = CASE WHEN m.doubt IS NULL AND m.value = excluded.doubt THEN NULL ELSE excluded.doubt END
    WHERE m.generation <> excluded.generation OR m.doubt IS NOT NULL
    RETURNING m.user_id, m.doubt IS NOT NULL AS changed
  )
  SELECT ${IS_HELD},
    coalesce(array_agg(user_id) FILTER (WHERE changed), '{}') AS users,
    (count(*) FILTER (WHERE NOT changed))::int AS unchanged
  FROM offered`;

/** $3 users */
export const WITHDRAW = `
  WITH ${HELD}, found AS (
    UPDATE ${SCHEMA}.audience_member AS m SET doubt = '' WHERE ${OURS} AND m.user_id = ANY ($3::text[])
    RETURNING m.user_id
  )
  SELECT ${IS_HELD}, coalesce(array_agg(user_id), '{}') AS users FROM found`;

/** $3 limit, $4 the user after whom to begin. Put in order, or each page would look at all before it. */
export const WITHDRAW_UNSEEN = `
  WITH ${HELD}, found AS MATERIALIZED (
    SELECT m.user_id FROM ${SCHEMA}.audience_member AS m
    WHERE ${OURS} AND m.user_id > $4 AND m.generation < (SELECT generation FROM audience)
    ORDER BY m.user_id LIMIT $3
  ), doubted AS (
    UPDATE ${SCHEMA}.audience_member AS m SET doubt = '' FROM found WHERE ${OURS} AND m.user_id = found.user_id
  )
  SELECT ${IS_HELD}, coalesce(array_agg(user_id ORDER BY user_id), '{}') AS users FROM found`;

/** $3 users */
export const SETTLE = `
  WITH ${HELD}, gone AS (
    DELETE FROM ${SCHEMA}.audience_member AS m WHERE ${OURS} AND m.user_id = ANY ($3::text[]) AND m.doubt = ''
  ), kept AS (
    UPDATE ${SCHEMA}.audience_member AS m SET value = m.doubt, doubt = NULL
    WHERE ${OURS} AND m.user_id = ANY ($3::text[]) AND m.doubt <> ''
  )
  SELECT ${IS_HELD}`;

/** $1 trait, $2 limit, $3 the user after whom to begin */
export const MEMBERS = `
  SELECT user_id FROM ${SCHEMA}.audience_member
  WHERE audience = (SELECT id FROM ${SCHEMA}.audience WHERE trait = $1) AND user_id > $3 AND value IS NOT NULL
  ORDER BY user_id LIMIT $2`;

/** $3 limit: a statement that deletes millions would hold up everything in an embedded database. */
export const DROP_MEMBERS = `
  WITH ${HELD}, batch AS MATERIALIZED (
    SELECT m.user_id FROM ${SCHEMA}.audience_member AS m WHERE ${OURS} LIMIT $3
  ), gone AS (
    DELETE FROM ${SCHEMA}.audience_member AS m USING batch WHERE ${OURS} AND m.user_id = batch.user_id
  )
  SELECT ${IS_HELD}, count(*)::int AS deleted FROM batch`;

export const DROP = `
  WITH ${HELD}, gone AS (
    DELETE FROM ${SCHEMA}.audience AS a USING audience WHERE EXISTS (SELECT 1 FROM held) AND a.id = audience.id
  )
  SELECT ${IS_HELD}`;
