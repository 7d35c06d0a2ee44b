import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isJsonObject } from '../messages/value-kind.js';
import type { JsonObject } from '../messages/message.types.js';
import { sharedSecrets, verifySignature } from '../receivers/verify-signature.js';
import { standardKeys, verifyStandardWebhook } from '../receivers/verify-standard-webhook.js';
import { WebhookVerificationError } from '../errors/receiver.errors.js';
import type { StandardWebhooksOptions } from '../options/webhooks-options.interface.js';
import { countOf } from '../shared/count-of.js';
import { Arrivals, type WaitOptions } from './arrivals.js';
import type { ReceivedWebhook, TestAnswer } from './test-receiver.types.js';

const HOST = '127.0.0.1';

/** Options of `startTestReceiver`. */
export interface TestReceiverOptions {
  /** Verifies `X-Signature` of every request. @default not verified */
  sharedSecret?: string | readonly string[];
  /** Verifies every request by Standard Webhooks. @default not verified */
  standardWebhooks?: StandardWebhooksOptions;
  /** The answer to every request without an answer of its own. @default 200 */
  answer?: TestAnswer;
  /** @default one that is free */
  port?: number;
}

/**
 * Starts an HTTP server on this machine that receives webhooks, and keeps what arrives. A destination needs
 * `allowPrivateNetwork: true` to reach it.
 *
 * @throws InvalidSecretError
 *
 * @example
 * const receiver = await startTestReceiver({ sharedSecret: 'secret' });
 * // … an application that delivers to receiver.url
 * const [request] = await receiver.waitFor(1);
 * await receiver.close();
 */
export async function startTestReceiver(options: TestReceiverOptions = {}): Promise<TestReceiver> {
  // A wrong secret fails here, not at the first request.
  if (options.sharedSecret !== undefined) sharedSecrets(options.sharedSecret);
  if (options.standardWebhooks !== undefined) standardKeys(options.standardWebhooks.secret);
  const server = createServer();
  server.listen(options.port ?? 0, HOST);
  await once(server, 'listening');
  return new TestReceiver(server, options);
}

/** A receiver of webhooks for tests. */
export class TestReceiver {
  /** URL of the receiver, for `webhooks: { urls: [receiver.url] }`. The receiver answers on every path. */
  readonly url: string;
  private readonly server: Server;
  private readonly options: TestReceiverOptions;
  private readonly arrivals = new Arrivals<ReceivedWebhook>(({ method, path }) => `${method} ${path}`);
  private readonly next: TestAnswer[] = [];
  private readonly timers = new Set<NodeJS.Timeout>();
  private usualAnswer: TestAnswer;

  /** @internal */
  constructor(server: Server, options: TestReceiverOptions) {
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : options.port;
    this.url = `http://${HOST}:${port}/`;
    this.server = server;
    this.options = options;
    this.usualAnswer = options.answer ?? 200;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      // A sender that disconnects in the middle of a request must not fail the test.
      this.receive(request, response).catch(() => response.destroy());
    });
  }

  /** The requests that have arrived, in order. */
  get requests(): ReceivedWebhook[] {
    return this.arrivals.all;
  }

  /** Sets the answer to all further requests that have no answer from `answerOnce`. */
  answer(answer: TestAnswer): void {
    this.usualAnswer = answer;
  }

  /** Sets the answers to the next requests, one for each. */
  answerOnce(...answers: readonly TestAnswer[]): void {
    this.next.push(...answers);
  }

  /**
   * Waits until `count` requests have arrived, and resolves to all.
   *
   * @throws WaitTimeoutError
   */
  waitFor(count: number, options?: WaitOptions): Promise<ReceivedWebhook[]> {
    return this.arrivals.wait({
      ...options,
      find: (requests) => (requests.length < count ? undefined : [...requests]),
      awaited: countOf(count, 'request'),
    });
  }

  /** Forgets the requests that have arrived. */
  clear(): void {
    this.arrivals.clear();
  }

  /** Stops the receiver, and breaks off requests that are not answered yet. Safe to call again. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    for (const timer of this.timers) clearTimeout(timer);
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const rawBody = Buffer.concat(chunks);
    const { method = '', url: path = '', headers } = request;
    const answer = this.next.shift() ?? this.usualAnswer;
    const verified = this.verify(rawBody, headers);
    this.arrivals.add({ method, path, headers, rawBody, message: objectIn(rawBody), verified });
    this.respond(answer, request, response);
  }

  private respond(answer: TestAnswer, request: IncomingMessage, response: ServerResponse): void {
    if (answer === 'hang') return;
    if (answer === 'reset') {
      request.socket.resetAndDestroy();
      return;
    }
    const given = typeof answer === 'number' ? { status: answer } : answer;
    const { status = 200, headers = {}, body, delay = 0 } = given;
    const respond = (): void => {
      response.writeHead(status, headers).end(body);
    };
    if (delay > 0) this.timers.add(setTimeout(respond, delay));
    else respond();
  }

  private verify(rawBody: Buffer, headers: IncomingMessage['headers']): boolean | undefined {
    const { sharedSecret, standardWebhooks } = this.options;
    if (sharedSecret === undefined && standardWebhooks === undefined) return undefined;
    if (sharedSecret !== undefined && !verifySignature(rawBody, headers['x-signature'], sharedSecret))
      return false;
    return standardWebhooks === undefined || isStandard(rawBody, headers, standardWebhooks);
  }
}

function isStandard(
  rawBody: Buffer,
  headers: IncomingMessage['headers'],
  { secret }: StandardWebhooksOptions,
): boolean {
  try {
    verifyStandardWebhook(rawBody, headers, secret);
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  }
}

function objectIn(rawBody: Buffer): JsonObject {
  try {
    const value: unknown = JSON.parse(rawBody.toString());
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
