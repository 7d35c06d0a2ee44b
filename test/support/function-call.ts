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

/** A request whose connection is a stand-in, as adapters of platforms for functions make it. */
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
    // Its own, since Express replaces the prototype.
    _read: () => {
      request.push(body);
      request.push(null);
    },
  });
}

/** Calls an application as such a platform does, and resolves to the status and the text that it answers with. */
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

/** What a response writes to. It is no stream, and has nothing but what a response needs to end. */
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
