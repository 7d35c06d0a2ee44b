import { once } from 'node:events';
import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const nothing = (): void => undefined;

export interface FunctionCall {
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Returns a request with a stand-in for its connection, as adapters for function platforms make it. */
function requestOf({ method, url, headers = {}, body = '' }: FunctionCall): IncomingMessage {
  const socket = {
    encrypted: true,
    readable: false,
    remoteAddress: '203.0.113.9',
    end: nothing,
    destroy: nothing,
  };
  const request = new IncomingMessage(socket as unknown as Socket);
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  return Object.assign(request, {
    method,
    url,
    headers: { ...length, ...headers },
    complete: true,
    // An own property, since Express replaces the prototype.
    _read: () => {
      request.push(body);
      request.push(null);
    },
  });
}

/** Calls an application as a function platform does, and resolves to the status and text of its answer. */
export async function callAsFunction(
  listener: RequestListener,
  call: FunctionCall,
): Promise<{ status: number; text: string }> {
  const request = requestOf(call);
  const response = new ServerResponse(request);
  const written: string[] = [];
  response.assignSocket(standIn((data) => written.push(data)));
  const finished = once(response, 'finish');
  listener(request, response);
  await finished;
  return { status: response.statusCode, text: written.join('') };
}

/** Returns what a response writes to: not a stream, only what a response needs to end. */
function standIn(onWritten: (data: string) => void): Socket {
  return {
    _writableState: {},
    writable: true,
    on: nothing,
    removeListener: nothing,
    destroy: nothing,
    cork: nothing,
    uncork: nothing,
    write: (data: string | Buffer, encoding: string | (() => void), done?: () => void) => {
      onWritten(String(data));
      (typeof encoding === 'function' ? encoding : done)?.();
    },
  } as unknown as Socket;
}
