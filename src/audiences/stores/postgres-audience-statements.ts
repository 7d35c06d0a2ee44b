import { missingColumn, SCHEMA } from '../../queue/postgres/own-tables.js';

/**
 * A recorded user has a `value`. A user in doubt has a `doubt`: the new value, or an empty text for a user
 * who is to leave. The `generation` of a member is the generation in which the user was last seen. The column
 * has no index, so that marking a million users as seen writes no index entries.
 */
export const TABLES = `
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.audience (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    trait text NOT NULL UNIQUE,
    name text NOT NULL,
    kind text NOT NULL,
    generation bigint NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.audience_member (
    audience integer NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    value text,
    doubt text,
    PRIMARY KEY (audience, user_id)
  ) WITH (fillfactor = 80);
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.audience_lock (
    trait text NOT NULL,
    kind text NOT NULL,
    token text NOT NULL,
    expires_at timestamptz NOT NULL,
    wanted_until timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (trait, kind)
  )`;

/** Audiences of version 0.1.0 have no source. */
export const CHANGES =
  missingColumn(`${SCHEMA}.audience`, 'source', 'text') +
  missingColumn(`${SCHEMA}.audience`, 'earlier_sources', 'text[]');

/**
 * Each statement is one transaction. A fenced statement begins by locking the row of the lock ($1 trait, $2
 * token), so that nobody else can take the lock until the statement ends. If the lock is not held, `held` is
 * empty and nothing is done.
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

/**
 * $1 trait, $2 name, $3 kind, $4 source. Each attempt to insert takes an id, even if the audience exists, and there are
 * two billion of them. So nothing is inserted if there is nothing to change, as in nearly every call.
 */
export const REGISTER = `
  INSERT INTO ${SCHEMA}.audience AS a (trait, name, kind, source)
  SELECT $1::text, $2::text, $3::text, $4::text WHERE NOT EXISTS (
    SELECT 1 FROM ${SCHEMA}.audience AS known WHERE known.trait = $1
      AND NOT (known.name = $2 AND known.kind = $3 AND known.source IS DISTINCT FROM $4)
  )
  ON CONFLICT (trait) DO UPDATE SET source = excluded.source, earlier_sources = array_remove(
    array_append(array_remove(array_remove(a.earlier_sources, excluded.source), a.source), a.source), NULL)
  WHERE a.name = excluded.name AND a.kind = excluded.kind AND a.source IS DISTINCT FROM excluded.source`;

export const LIST = `
  SELECT trait, name, kind, source, earlier_sources AS "earlierSources" FROM ${SCHEMA}.audience`;

/** $1 trait */
export const FIND = `${LIST} WHERE trait = $1`;

/**
 * $1 trait, $2 kind, $3 token, $4 milliseconds. A lock that expires much later than that was taken before the clock
 * was set back, and is taken over. A process that still holds it learns that it is lost. A caller whose first answer was
 * lost has the lock already.
 */
export const LOCK = `
  INSERT INTO ${SCHEMA}.audience_lock AS l (trait, kind, token, expires_at) VALUES ($1, $2, $3, ${until('$4')})
  ON CONFLICT (trait, kind) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at
  WHERE l.expires_at <= clock_timestamp() OR l.expires_at > ${until('2 * $4')} OR l.token = excluded.token
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
    coalesce(json_agg(user_id) FILTER (WHERE changed), '[]') AS users,
    (count(*) FILTER (WHERE NOT changed))::int AS unchanged
  FROM offered`;

/** $3 users */
export const WITHDRAW = `
  WITH ${HELD}, found AS (
    UPDATE ${SCHEMA}.audience_member AS m SET doubt = '' WHERE ${OURS} AND m.user_id = ANY ($3::text[])
    RETURNING m.user_id
  )
  SELECT ${IS_HELD}, coalesce(json_agg(user_id), '[]') AS users FROM found`;

/**
 * $3 number of users to look at, seen or not; $4 the user to start after. A statement that skipped a million
 * seen users would block everything else in an embedded database.
 */
export const UNSEEN = `
  WITH ${HELD}, page AS MATERIALIZED (
    SELECT m.user_id, m.generation FROM ${SCHEMA}.audience_member AS m
    WHERE ${OURS} AND m.user_id > $4 ORDER BY m.user_id LIMIT $3
  )
  SELECT ${IS_HELD},
    (SELECT coalesce(json_agg(user_id ORDER BY user_id), '[]') FROM page
     WHERE generation < (SELECT generation FROM audience)) AS users,
    (SELECT max(user_id) FROM page HAVING count(*) = $3) AS next`;

/** $3 users */
export const SETTLE = `
  WITH ${HELD}, gone AS (
    DELETE FROM ${SCHEMA}.audience_member AS m WHERE ${OURS} AND m.user_id = ANY ($3::text[]) AND m.doubt = ''
  ), kept AS (
    UPDATE ${SCHEMA}.audience_member AS m SET value = m.doubt, doubt = NULL
    WHERE ${OURS} AND m.user_id = ANY ($3::text[]) AND m.doubt <> ''
  )
  SELECT ${IS_HELD}`;

/** $1 trait, $2 number of users to look at, $3 the user to start after. */
export const MEMBERS = `
  WITH page AS (
    SELECT user_id, value FROM ${SCHEMA}.audience_member
    WHERE audience = (SELECT id FROM ${SCHEMA}.audience WHERE trait = $1) AND user_id > $3
    ORDER BY user_id LIMIT $2
  )
  SELECT
    (SELECT coalesce(json_agg(user_id), '[]') FROM page WHERE value IS NOT NULL) AS users,
    (SELECT max(user_id) FROM page HAVING count(*) = $2) AS next`;

/**
 * $3 limit: a statement that deletes millions would block everything else in an embedded database. $4 the user to
 * start after: from the beginning, each statement would pass all rows that earlier statements have deleted. The users
 * are an array, since a join reads the whole table if it was never analyzed.
 */
export const DROP_MEMBERS = `
  WITH ${HELD}, batch AS MATERIALIZED (
    SELECT m.user_id FROM ${SCHEMA}.audience_member AS m
    WHERE ${OURS} AND m.user_id > $4 ORDER BY m.user_id LIMIT $3
  ), gone AS (
    DELETE FROM ${SCHEMA}.audience_member AS m WHERE ${OURS} AND m.user_id = ANY (ARRAY(SELECT user_id FROM batch))
  )
  SELECT ${IS_HELD}, (SELECT max(user_id) FROM batch HAVING count(*) = $3) AS next`;

export const DROP = `
  WITH ${HELD}, gone AS (
    DELETE FROM ${SCHEMA}.audience AS a USING audience WHERE EXISTS (SELECT 1 FROM held) AND a.id = audience.id
  )
  SELECT ${IS_HELD}`;

export const ANALYZE = `ANALYZE ${SCHEMA}.audience_member`;
