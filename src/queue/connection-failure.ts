import { types } from 'node:util';
import { ConnectionClosedError } from 'bullmq';

/** Node's codes for a server that cannot be reached or went away. */
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENOENT',
]);

/** SQLSTATE classes and codes for the same: connection exceptions, shutdowns, too many connections. */
const SQLSTATES = ['08', '57P01', '57P02', '57P03', '53300'];

/** Texts of `pg` and `ioredis` for errors that they give no code. */
const TEXTS = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
  'Connection is closed',
];

/** Whether an error means that the server is away, so that trying again later can help. */
export function isConnectionFailure(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  if (error instanceof ConnectionClosedError) return true;
  if ('code' in error && typeof error.code === 'string') {
    const { code } = error;
    return NETWORK_CODES.has(code) || SQLSTATES.some((state) => code.startsWith(state));
  }
  if (error instanceof AggregateError) return error.errors.some(isConnectionFailure);
  return TEXTS.some((text) => error.message.startsWith(text));
}
