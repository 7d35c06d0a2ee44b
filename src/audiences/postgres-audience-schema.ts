/** Ours beside BullMQ's in the same database. Every statement names it: the search path is BullMQ's. */
export const SCHEMA = 'nestjs_analytics';

/** Any number that nothing else locks by: `CREATE … IF NOT EXISTS` fails where two run at the same time. */
const LOCK = 4_712_366_095;

/**
 * Users who are recorded have a `value`. Those in doubt have a `doubt`: the value that they are to have,
 * empty for those who are to leave. `generation` is the one in which a user was last seen; it has no
 * index, so that marking a million users as seen writes no index either.
 */
export const MIGRATION = `
  SELECT pg_advisory_xact_lock(${LOCK});
  CREATE SCHEMA IF NOT EXISTS ${SCHEMA};
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
