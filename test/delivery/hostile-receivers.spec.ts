import { gzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { DeliveriesService, type MessageOutcome } from '../../src/index.js';
import { describeAnyServer } from '../support/describe-backend.js';
import type { Answer } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** Long enough that nothing is retried within the test. */
const RETRY_WINDOW = 3_600_000;

const HOSTILE: Record<string, { answer: Answer; came: { class: string; status?: number; error?: string } }> =
  {
    'never answers': { answer: () => undefined, came: { class: 'retry', error: 'TIMEOUT' } },
    'drips a body for ever': {
      answer: (response) => {
        response.writeHead(200);
        const drip = setInterval(() => response.write('.'), 20);
        response.on('close', () => {
          clearInterval(drip);
        });
      },
      came: { class: 'delivered', status: 200 },
    },
    'sends a body without an end': {
      answer: (response) => {
        response.writeHead(200);
        const chunk = Buffer.alloc(64 * 1024);
        const pour = (): void => {
          while (!response.destroyed && response.write(chunk));
          if (!response.destroyed) response.once('drain', pour);
        };
        pour();
      },
      came: { class: 'delivered', status: 200 },
    },
    'answers with a gzip bomb': {
      answer: {
        status: 200,
        headers: { 'content-encoding': 'gzip' },
        body: gzipSync(Buffer.alloc(8 * 1024 * 1024)),
      },
      came: { class: 'delivered', status: 200 },
    },
    'redirects to itself': {
      answer: { status: 307, headers: { location: '/' } },
      came: { class: 'failed', status: 307 },
    },
    'sends 100 KB of headers': {
      answer: (_response, socket) => {
        socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100 * 1024)}\r\n\r\n`);
      },
      came: { class: 'retry', error: 'HEADERS_TOO_LARGE' },
    },
    'sends 63 KB of small headers': {
      answer: (_response, socket) => {
        socket.end(`HTTP/1.1 200 OK\r\n${'a:b\r\n'.repeat(12_600)}\r\n`);
      },
      came: { class: 'retry', error: 'HEADERS_TOO_LARGE' },
    },
    'announces an answer for ever': {
      answer: (_response, socket) => {
        socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(30));
      },
      came: { class: 'retry', error: 'INVALID_RESPONSE' },
    },
    'sends blank lines for ever': {
      answer: (_response, socket) => {
        const lines = '\r\n'.repeat(32 * 1024);
        const pour = (): void => {
          while (!socket.destroyed && socket.write(lines));
          if (!socket.destroyed) socket.once('drain', pour);
        };
        pour();
      },
      came: { class: 'retry', error: 'HEADERS_TOO_LARGE' },
    },
    'says 100 Continue, which nobody asked for': {
      answer: (response) => {
        response.writeContinue();
        response.writeHead(200).end();
      },
      came: { class: 'delivered', status: 200 },
    },
    'answers in another version of HTTP': {
      answer: (_response, socket) => {
        socket.end('HTTP/2.0 200 OK\r\n\r\n');
      },
      came: { class: 'retry', error: 'INVALID_RESPONSE' },
    },
    'resets after the request': {
      answer: (_response, socket) => {
        socket.resetAndDestroy();
      },
      came: { class: 'retry', error: 'ECONNRESET' },
    },
    'does not speak HTTP': {
      answer: (_response, socket) => {
        socket.end('220 mail.example.com ESMTP\r\n\r\n');
      },
      came: { class: 'retry', error: 'INVALID_RESPONSE' },
    },
  };

describeAnyServer('delivery to hostile receivers', (backend) => {
  const stage = new Stage();

  it('settles each message by what its receiver did, and reaches a good receiver beside them', async () => {
    const good = await stage.receiver();
    const names = Object.keys(HOSTILE);
    const webhooks = await Promise.all(
      Object.entries(HOSTILE).map(async ([name, { answer }]) => {
        const receiver = await stage.receiver({ answer: () => answer });
        return webhooksTo(receiver, { id: name, timeout: 2_000, retryWindow: RETRY_WINDOW });
      }),
    );
    const app = await stage.app({
      connection: backend.connection,
      webhooks: [...webhooks, webhooksTo(good, { id: 'good' })],
    });
    const outcomes = new Map<string, MessageOutcome>();
    const all = new Promise<void>((resolve) => {
      app.context.get(DeliveriesService).outcomes$.subscribe((outcome) => {
        outcomes.set(outcome.destination, outcome);
        if (outcomes.size === names.length + 1) resolve();
      });
    });
    app.analytics.track({ userId: 'u1', event: 'Sent' });
    await app.analytics.flush();
    await all;

    expect(outcomes.get('good')?.class).toBe('delivered');
    for (const [name, { came }] of Object.entries(HOSTILE)) {
      const { class: outcomeClass, outcomes: answers } = outcomes.get(name) ?? {
        class: undefined,
        outcomes: [],
      };
      const [{ status, error } = {}] = answers;
      expect({ name, class: outcomeClass, status, error }).toEqual({
        name,
        status: undefined,
        error: undefined,
        ...came,
      });
    }
  });
});
