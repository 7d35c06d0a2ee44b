import type { OptionProblem } from '../../errors/option-problem.js';

/** Header without which the API changes nothing. */
const CONSOLE_HEADER = 'x-analytics-console';

/** Header with the token of a link. Without it, the API checks who is signed in. */
const LINK_HEADER = 'x-analytics-link';

const STREAM_TYPE = 'text/event-stream';

/** How long the answer to a change may take, in milliseconds. The API never takes as long. */
const SEND_PATIENCE = 90_000;

/** Fields of a destination or of a filter, as they are sent. */
export type Fields = Record<string, unknown>;

/** An error that the API answers, or that keeps its answer from arriving. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly problems: readonly OptionProblem[] = [],
  ) {
    super(message);
  }
}

/** Whether a change got no answer of the application, so that it may have been made all the same. */
export function isUnanswered(thrown: unknown): boolean {
  return thrown instanceof ApiError && (thrown.code === 'UNREACHABLE' || thrown.code === 'UNEXPECTED_ANSWER');
}

/** Sends the requests of a page to its application. */
export class ApiRequests {
  /** @param link token behind the `#` of a link */
  constructor(private readonly link?: string) {}

  /**
   * @param patience how long the answer may take, in milliseconds
   * @param signal aborts when nobody waits for the answer any more
   */
  read<T>(url: string, patience: number, signal?: AbortSignal): Promise<T> {
    return this.ask('GET', url, undefined, inTime(patience, signal));
  }

  send<T>(method: string, url: string, body?: Fields): Promise<T> {
    return this.ask(method, url, body, inTime(SEND_PATIENCE));
  }

  /** Reads server-sent events. */
  async stream(
    url: string,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return streamIn(await this.fetch(url, { headers, signal }));
  }

  private async ask<T>(method: string, url: string, body?: Fields, signal?: AbortSignal): Promise<T> {
    const response = await this.fetch(url, {
      method,
      ...(signal !== undefined && { signal }),
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status === 204) return undefined as T;
    return (await jsonOf(response, method)) as T;
  }

  /** @throws ApiError for a missing, redirected or unsuccessful answer */
  private async fetch(url: string, { headers, ...request }: RequestInit): Promise<Response> {
    const response = await fetch(url, {
      ...request,
      // A redirect may lead to another origin, such as a sign-in page, which this page must not request.
      redirect: 'manual',
      headers: {
        [CONSOLE_HEADER]: '1',
        ...(this.link !== undefined && { [LINK_HEADER]: this.link }),
        ...(headers as Record<string, string>),
      },
    }).catch(() => {
      throw unreachable(request.method);
    });
    if (response.ok) return response;
    if (response.type === 'opaqueredirect') throw redirected(request.method);
    const { error } = (await jsonOf(response, request.method)) as {
      error?: { code: string; message: string; problems?: OptionProblem[] };
    };
    if (error === undefined) throw unexpectedAnswer(response, request.method);
    if (error.code === 'UNAUTHORIZED') throw signedOut(error.code);
    throw new ApiError(error.code, error.message, error.problems);
  }
}

/** Adds a time limit to a signal: a request without an answer would block all renewals, and the reader. */
function inTime(patience: number, signal?: AbortSignal): AbortSignal {
  const timeout = AbortSignal.timeout(patience);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}

/** @throws ApiError for an answer that is not the application's, such as the page of a proxy, or that breaks off */
async function jsonOf(response: Response, method?: string): Promise<object> {
  try {
    return (await response.json()) as object;
  } catch {
    throw unexpectedAnswer(response, method);
  }
}

/** @throws ApiError for an answer that is no event stream */
async function streamIn(response: Response): Promise<ReadableStream<Uint8Array>> {
  const { body, headers } = response;
  if (body !== null && headers.get('content-type')?.startsWith(STREAM_TYPE) === true) return body;
  // The body of another answer may have no end.
  await body?.cancel();
  throw unexpectedAnswer(response);
}

/** Hint after a failed change: the request may have arrived, and only its answer was lost. */
const LOOK_FIRST =
  'Your request may have been carried out anyway: check the connection and the result before you try again.';

function unreachable(method = 'GET'): ApiError {
  return new ApiError(
    'UNREACHABLE',
    method === 'GET'
      ? 'The application cannot be reached. Check the connection and try again.'
      : `The application has not answered. ${LOOK_FIRST}`,
  );
}

/** Replaces the message of the answer, which is meant for developers of a page. */
function signedOut(code: string): ApiError {
  return new ApiError(
    code,
    'You are no longer signed in. Sign in to the application again, and reload the page.',
  );
}

/** The application never redirects, so a proxy in front of it has not let the request pass. */
function redirected(method = 'GET'): ApiError {
  return new ApiError(
    'REDIRECTED',
    'The request was redirected: you may have to sign in again. Reload the page.' +
      (method === 'GET' ? '' : ' Nothing was done.'),
  );
}

function unexpectedAnswer({ status }: Response, method = 'GET'): ApiError {
  return new ApiError(
    'UNEXPECTED_ANSWER',
    method === 'GET'
      ? `The answer (status ${status}) did not come from the application: it may be restarting, or you may have to sign in ` +
          'again. Try again in a moment, or reload the page.'
      : `The answer (status ${status}) did not come from the application, or is incomplete. ` + LOOK_FIRST,
  );
}
