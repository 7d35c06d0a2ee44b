import type { RawBodyRequest } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import { types } from 'node:util';
import { RawBodyMissingError } from '../errors/raw-body-missing.error.js';

/** A request as Nest has it, on Express and on Fastify. */
export type WebhookRequest = RawBodyRequest<{ headers: IncomingHttpHeaders; body?: unknown }>;

const NOTHING = Buffer.alloc(0);

/**
 * The bytes that a webhook's body arrived in; none where it has no body that is parsed.
 *
 * @throws {RawBodyMissingError} when there was a body and the application has not kept its bytes
 */
export function rawBodyOf(request: WebhookRequest): Buffer {
  if (request.rawBody !== undefined) return request.rawBody;
  // Only JSON, which every delivery is: a body of a type that is not parsed is never kept, and no reason for
  // anybody on the internet to be answered with an error of the server.
  if (isJson(request) && hasBody(request)) throw new RawBodyMissingError();
  return NOTHING;
}

/**
 * Whoever hands over what a framework has parsed, or nothing, is told so instead of that the signature is wrong.
 *
 * @throws {RawBodyMissingError} for anything but a text or bytes
 */
export function checkRawBody(rawBody: unknown): void {
  if (typeof rawBody !== 'string' && !types.isUint8Array(rawBody)) throw new RawBodyMissingError();
}

function isJson({ headers }: WebhookRequest): boolean {
  return headers['content-type']?.toLowerCase().startsWith('application/json') ?? false;
}

function hasBody({ headers, body }: WebhookRequest): boolean {
  return (body !== undefined && body !== null) || Number(headers['content-length']) > 0;
}
