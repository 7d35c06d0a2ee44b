import { type RawBodyRequest, UnauthorizedException } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { types } from 'node:util';
import { InvalidHeadersError, RawBodyMissingError } from '../errors/receiver.errors.js';

/** A request in Nest, on Express and on Fastify. */
export type IncomingWebhook = RawBodyRequest<{ headers: IncomingHttpHeaders; body?: unknown }>;

/**
 * Returns the bytes of a webhook's body as they arrived. There is no substitute for them: an empty text would be
 * verified instead of the body that the handler gets.
 *
 * @throws {RawBodyMissingError} if there is JSON and the application has not kept its bytes
 * @throws {UnauthorizedException} for any other body, and if there is no body
 */
export function rawBodyOf(request: IncomingWebhook): Buffer {
  // Comes first: the signature does not cover the type, by which Nest parses the same bytes as something else, such as a
  // form. Besides, the sender of another body must not be able to cause a server error.
  if (!isJson(request)) {
    throw new UnauthorizedException('The webhook is not verified: its body is not JSON in UTF-8.');
  }
  if (request.rawBody !== undefined) return request.rawBody;
  if (hasBody(request)) throw new RawBodyMissingError();
  throw new UnauthorizedException('The webhook is not verified: its body is missing.');
}

/**
 * Refuses a body that a framework has parsed, and a missing body. A wrong signature would be the wrong reason for
 * these.
 *
 * @throws {RawBodyMissingError} for anything but a text or bytes
 */
export function checkRawBody(rawBody: unknown): void {
  if (typeof rawBody !== 'string' && !types.isUint8Array(rawBody)) throw new RawBodyMissingError();
}

/**
 * The values of a header; there may be none.
 *
 * @throws {InvalidHeadersError} for anything but texts
 */
export function headerValues(name: string, header: unknown): string[] {
  const values: unknown[] = [header ?? []].flat();
  return values.map((value) => {
    if (typeof value !== 'string') throw new InvalidHeadersError(name);
    return value;
  });
}

/** Compares a text with the expected one, in a time that does not reveal how much of it is right. */
export function equalTexts(given: string, expected: string): boolean {
  const [givenBytes, expectedBytes] = [Buffer.from(given), Buffer.from(expected)];
  return givenBytes.length === expectedBytes.length && timingSafeEqual(givenBytes, expectedBytes);
}

/** The type of every delivery, with or without its charset. Express would decode other charsets, such as UTF-7. */
const JSON_TYPE = /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

function isJson({ headers }: IncomingWebhook): boolean {
  return JSON_TYPE.test(headers['content-type'] ?? '');
}

function hasBody({ headers, body }: IncomingWebhook): boolean {
  const isAnnounced = Number(headers['content-length']) > 0 || headers['transfer-encoding'] !== undefined;
  return isAnnounced || (body !== undefined && body !== null);
}
