import { types } from 'node:util';
import { ConnectionClosedError } from 'bullmq';
import { EmbeddedQueueBrokenError } from '../errors/embedded-queue.errors.js';
import { UnsupportedQueueServerError } from '../errors/setup.errors.js';
import { DAMAGED, DamagedTablesError } from './damaged-tables.js';
import { EndedStatementError, ENDS } from './ended-statements.js';
import { missingRight } from './missing-right.js';
import { MISSING_RIGHT, RefusedTableError } from './refused-tables.js';
import { RemovedOwnTableError, RemovedTablesError } from './removed-tables.js';

/**
 * Why the queue's server cannot be used: it is unreachable, its connections are silent, or it answers but
 * stores nothing. Only the embedded database is ever `broken`: it does not come back in this process. On a `partial`
 * failure, the queue goes on: the server refuses or has lost some of the data beside the queue, or ended a statement
 * that only the history or the metrics need.
 */
export type FailureKind = 'unreachable' | 'silent' | 'refusing' | 'broken' | 'partial';

export interface QueueFailure {
  kind: FailureKind;
  /** The reason in words with its code. Messages of drivers are left out, since they name hosts and users. */
  reason: string;
  /** What to do before anything else, in a sentence. */
  remedy?: string;
}

/** A connection accepted a command or statement and answered nothing. */
export class SilentConnectionError extends Error {
  readonly code = 'QUEUE_CONNECTION_SILENT';

  constructor(seconds: number) {
    super(`no answer for ${seconds} s`);
  }
}

/** Node's codes for a server that cannot be reached or went away. */
const NETWORK_CODES: readonly string[] = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENOENT',
];

const CERTIFICATE_CODE = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

const GRANTS =
  'grant USAGE on the schema `bullmq` and on that of this module, and ALL on their tables and sequences';

const WHAT_TO_GRANT =
  'the user may not use or create the schema `bullmq` or that of this module, or is not the owner of a table that has ' +
  `to change: ${GRANTS}, or start once as their owner`;

const DISK_FULL = 'its disk is full';

/** PostgreSQL's code for too many connections. */
export const NO_MORE_CONNECTIONS = '53300';

/** None of the connections was free in time, and the server gives no more. */
export class NoMoreConnectionsError extends Error {
  readonly code = NO_MORE_CONNECTIONS;

  constructor(options: ErrorOptions) {
    super('the server accepts no more connections', options);
  }
}

export const MORE_CONNECTIONS =
  'raise `max_connections`, or the `CONNECTION LIMIT` of the user or the database, close some connections, or ' +
  'pass a `pg` Pool with a smaller `max`';

const READ_ONLY =
  'it is read-only: connect to the primary if it is a standby, otherwise find out what sets ' +
  '`default_transaction_read_only`';

const REMOVED =
  'tables or functions of the schema `bullmq` are missing: if the whole schema is gone and the user may create it, it is ' +
  'created again; otherwise restore it';

/** Codes of PostgreSQL, longest first. A code of two characters stands for its whole class. */
const SQLSTATES: readonly (readonly [code: string, kind: FailureKind, words: string])[] = [
  ['28P01', 'unreachable', 'the password is wrong'],
  ['28000', 'unreachable', 'the server does not let this user in: check its `pg_hba.conf`'],
  ['3D000', 'unreachable', 'there is no such database'],
  [MISSING_RIGHT, 'refusing', WHAT_TO_GRANT],
  ['25006', 'refusing', READ_ONLY],
  ...ENDS.map(({ code, reason }) => [code, 'refusing', reason] as const),
  ['53000', 'refusing', 'it has no file handle left, or lacks another resource: raise its `ulimit -n`'],
  ['53100', 'refusing', DISK_FULL],
  ['53200', 'refusing', 'it is out of memory'],
  [NO_MORE_CONNECTIONS, 'unreachable', `it has too many connections: ${MORE_CONNECTIONS}`],
  ['57P01', 'unreachable', 'an administrator ended the connection'],
  ['57P02', 'unreachable', 'it crashed'],
  ['57P05', 'unreachable', 'it ended an idle connection: raise `idle_session_timeout`'],
  ['57P03', 'unreachable', 'it is starting or stopping'],
  ['58P01', 'refusing', 'one of its files is missing'],
  ['58030', 'refusing', 'it cannot read or write its disk'],
  ['08P01', 'unreachable', 'a connection pooler refused or closed a connection: see its log'],
  ['08', 'unreachable', 'the connection broke'],
];

/** Beginnings of Redis errors that concern Redis itself, not the command. */
const REDIS_REPLIES: readonly (readonly [start: string, kind: FailureKind, words: string])[] = [
  ['OOM', 'refusing', 'its memory is full: raise `maxmemory`'],
  ['READONLY', 'refusing', 'it is a replica: connect to the master'],
  ['UNBLOCKED', 'refusing', 'it became a replica'],
  ['MISCONF', 'refusing', 'it cannot write to its disk'],
  ['NOREPLICAS', 'refusing', 'too few of its replicas are connected'],
  ['MOVED', 'refusing', 'it is a node of a Redis Cluster'],
  ['BUSY', 'refusing', 'a script has kept it busy for a long time'],
  ['CLUSTERDOWN', 'refusing', 'its cluster is down'],
  ['WRONGPASS', 'unreachable', 'the user or the password is wrong'],
  ['NOAUTH', 'unreachable', 'it requires a password'],
  ['LOADING', 'unreachable', 'it is loading its data'],
  ['MASTERDOWN', 'unreachable', 'it is a replica that has lost its master'],
  ['ERR max number of clients', 'unreachable', 'it has too many connections: raise `maxclients`'],
  ['ERR DB index is out of range', 'unreachable', 'it has no database with this number'],
];

/** Messages of `pg` and `ioredis` for errors without a code. */
const TEXTS: readonly (readonly [start: string, kind: FailureKind, words: string])[] = [
  ['Connection terminated due to connection timeout', 'silent', 'it did not accept a connection in time'],
  ['timeout exceeded when trying to connect', 'silent', 'it did not provide a connection in time'],
  ['timeout expired', 'silent', 'it did not accept a connection in time'],
  ['Socket timeout', 'silent', 'no answer to a command'],
  ['Query read timeout', 'silent', 'no answer to a statement'],
  ['Connection terminated', 'unreachable', 'the connection was closed'],
  ['Client has encountered a connection error', 'unreachable', 'the connection broke'],
  ['Connection is closed', 'unreachable', 'the connection was closed'],
  ['Command aborted', 'unreachable', 'the connection was closed'],
  ['Failed to refresh slots cache', 'unreachable', 'none of its nodes answers'],
  ['None of startup nodes is available', 'unreachable', 'none of its nodes can be reached'],
  ['Cluster is ended', 'unreachable', 'the connection was closed'],
];

const KEPT_IN_FOLDER = 'Everything that was acknowledged is in its folder.';
const MAKE_ROOM = `If its disk is full, or the process is out of memory, make room first. ${KEPT_IN_FOLDER}`;
const RAISE_HANDLES = `Raise \`ulimit -n\` first. ${KEPT_IN_FOLDER}`;
const PUT_BACK = 'All waiting messages were in that folder: if you still have it, put it back first.';

const NO_HANDLE = 'the process had no file handle left, EMBEDDED_QUEUE_BROKEN';

const FOLDER_REMOVED = 'its folder was removed or replaced, EMBEDDED_QUEUE_BROKEN';

/** Returns what an error says about the queue's server, or `undefined` if it is about something else. */
export function failureOf(error: unknown): QueueFailure | undefined {
  if (!types.isNativeError(error)) return undefined;
  if (error instanceof SilentConnectionError) return { kind: 'silent', reason: error.message };
  if (error instanceof EmbeddedQueueBrokenError) return brokenBy(error);
  if (error instanceof ConnectionClosedError)
    return failureOf(error.cause) ?? { kind: 'unreachable', reason: 'the connection was closed' };
  if (error instanceof RefusedTableError || error instanceof RemovedOwnTableError)
    return { kind: 'partial', reason: `${error.message}, ${error.code}` };
  if (error instanceof EndedStatementError)
    return { kind: 'partial', reason: `${error.end.reason}, ${error.end.code}` };
  if (error instanceof RemovedTablesError) return { kind: 'refusing', reason: `${REMOVED}, ${error.code}` };
  if (error instanceof DamagedTablesError)
    return { kind: 'refusing', reason: `${error.reason}, ${error.code}` };
  if ('code' in error && typeof error.code === 'string') return failureOfCode(error.code, error.message);
  // A Redis transaction fails because one of its commands was refused.
  if ('previousErrors' in error && Array.isArray(error.previousErrors))
    return failureOf(error.previousErrors[0]);
  if (error instanceof AggregateError) return error.errors.map(failureOf).find(Boolean);
  const missing = missingRight(error);
  if (missing !== undefined) return { kind: 'refusing', reason: `${missing}, NOPERM` };
  return failureOfText(error.message);
}

function brokenBy({ removed, hadNoHandle, code }: EmbeddedQueueBrokenError): QueueFailure {
  if (removed !== undefined) return { kind: 'broken', reason: FOLDER_REMOVED, remedy: PUT_BACK };
  if (hadNoHandle) return { kind: 'broken', reason: NO_HANDLE, remedy: RAISE_HANDLES };
  return { kind: 'broken', reason: code, remedy: MAKE_ROOM };
}

/** Whether a probe may be stored although a job is refused, since a job needs more room, tables, functions and pages. */
export function hidesFromProbes({ reason }: QueueFailure): boolean {
  return [DISK_FULL, REMOVED, DAMAGED].some((words) => reason.startsWith(words));
}

/**
 * Returns the milliseconds after a probe within which a refusal shows that the probe proved too little; 0 if none
 * does. Tries to add jobs come more often than that. But the check for stalled jobs, which needs functions and reads
 * pages of its own, comes only every 15 seconds, or later if the process is busy.
 */
export function quietAfter(failure: QueueFailure | undefined): number {
  if (failure === undefined || !hidesFromProbes(failure)) return 0;
  return failure.reason.startsWith(DISK_FULL) ? 10_000 : 75_000;
}

/** Describes an error that `failureOf` does not know when the queue cannot be used. */
export function unknownFailure(error: unknown): QueueFailure {
  const reason = codeOf(error);
  if (error instanceof UnsupportedQueueServerError) return { kind: 'unreachable', reason: error.message };
  // PostgreSQL translates `severity`. An error that is not surely about a statement counts as a failed connection.
  const isOfStatement = types.isNativeError(error) && 'severity' in error && error.severity === 'ERROR';
  if (!isOfStatement) return { kind: 'unreachable', reason };
  // The connection works, but a statement failed: somebody else's trigger may have refused it.
  return {
    kind: 'refusing',
    reason: `it refused a statement: its log says which one and why, ${reason}`,
  };
}

/** Returns the code of an error, or its message if it has none. Messages of drivers name hosts and users. */
function codeOf(error: unknown): string {
  if (!types.isNativeError(error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/** Whether an error means that the server is unreachable, so that trying again later can help. */
export function isConnectionFailure(error: unknown): boolean {
  const failure = failureOf(error);
  return failure !== undefined && failure.kind !== 'refusing' && failure.kind !== 'partial';
}

function failureOfCode(code: string, text: string): QueueFailure | undefined {
  if (NETWORK_CODES.includes(code)) return { kind: 'unreachable', reason: code };
  if (CERTIFICATE_CODE.test(code))
    return { kind: 'unreachable', reason: `its certificate is not accepted, ${code}` };
  const [, table] = code === MISSING_RIGHT ? (/^permission denied for table (\w+)$/.exec(text) ?? []) : [];
  if (table !== undefined)
    return {
      kind: 'refusing',
      reason: `the user may not use the table \`${table}\`, and perhaps others: ${GRANTS}, ${code}`,
    };
  const state = SQLSTATES.find(([start]) => code.startsWith(start));
  return state && { kind: state[1], reason: `${state[2]}, ${code}` };
}

function failureOfText(text: string): QueueFailure | undefined {
  const reply = REDIS_REPLIES.find(([start]) => text.startsWith(start));
  if (reply !== undefined) return { kind: reply[1], reason: `${reply[2]}, ${/^\w+/.exec(text)?.[0]}` };
  const known = TEXTS.find(([start]) => text.startsWith(start));
  return known && { kind: known[1], reason: known[2] };
}
