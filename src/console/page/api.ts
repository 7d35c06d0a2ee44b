import type { Overview, Sources } from '../console-reports.js';
import type { FailedMessage } from '../../deliveries/failed-filter.js';
import type { HourStats, RecentDelivery } from '../../deliveries/history/history.types.js';
import type { DestinationDetails, DestinationPage } from '../../stored-destinations/destinations.types.js';
import type { OptionProblem } from '../../errors/setup.errors.js';
import type { ExplainedRequest } from '../../webhooks/diagnostics/explained-request.js';
import type { TestResult } from '../../webhooks/endpoint.js';

/** Without it, the API changes nothing. */
const CONSOLE_HEADER = 'x-analytics-console';

/** Without it, the API asks who is signed in. */
const LINK_HEADER = 'x-analytics-link';

const STREAM_TYPE = 'text/event-stream';

/** How long what is read may take, in milliseconds: longer than the API takes for anything. */
const PATIENCE = 90_000;
/** The same for what the application answers within some ten seconds, whatever happens. */
const REPORT_PATIENCE = 20_000;

/** Destinations that are loaded at first, and at once if more are wanted: the search looks through those. */
const FIRST_PAGE = '100';
const NEXT_PAGE = '1000';

/** The fields of a destination that are sent. */
export type Fields = Record<string, unknown>;

/** A request that would be sent. */
export type ShownRequest = Pick<ExplainedRequest, 'method' | 'url' | 'headers' | 'curl'> & { body: string };

/** What the API answers in place of a result. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly problems: readonly OptionProblem[] = [],
  ) {
    super(message);
  }
}

/** The HTTP API of the destinations, as a page calls it. */
export class Api {
  /**
   * @param path where the API is
   * @param consolePath where the console is
   * @param link what was behind the `#` of a link
   */
  constructor(
    private readonly path: string,
    private readonly consolePath: string,
    private readonly link?: string,
  ) {}

  /** @param cursor of the page before */
  list(cursor?: string, signal?: AbortSignal): Promise<DestinationPage> {
    const query =
      cursor === undefined
        ? new URLSearchParams({ limit: FIRST_PAGE })
        : new URLSearchParams({ limit: NEXT_PAGE, cursor });
    return this.read(`?${query}`, signal);
  }

  create(fields: Fields): Promise<DestinationDetails & { secret?: string }> {
    return this.send('POST', '', fields);
  }

  get(id: string, signal?: AbortSignal): Promise<DestinationDetails> {
    return this.read(pathOf(id), signal);
  }

  update(id: string, fields: Fields): Promise<DestinationDetails> {
    return this.send('PATCH', pathOf(id), fields);
  }

  remove(id: string): Promise<void> {
    return this.send('DELETE', pathOf(id));
  }

  enable(id: string): Promise<DestinationDetails> {
    return this.send('POST', `${pathOf(id)}/enable`, {});
  }

  disable(id: string): Promise<DestinationDetails> {
    return this.send('POST', `${pathOf(id)}/disable`, {});
  }

  rotateSecret(id: string): Promise<{ secret: string }> {
    return this.send('POST', `${pathOf(id)}/rotate-secret`, {});
  }

  sendTest(id: string): Promise<{ results: TestResult[] }> {
    return this.send('POST', `${pathOf(id)}/test`, {});
  }

  recent(id: string, signal: AbortSignal): Promise<{ deliveries: RecentDelivery[] }> {
    return this.read(`${pathOf(id)}/recent`, signal);
  }

  stats(id: string, signal: AbortSignal): Promise<{ hours: HourStats[] }> {
    return this.read(`${pathOf(id)}/stats`, signal);
  }

  failed(id: string, filter: Fields, signal: AbortSignal): Promise<{ messages: FailedMessage[] }> {
    return this.read(`${pathOf(id)}/failed?${queryOf(filter)}`, signal);
  }

  countFailed(id: string, filter: Fields): Promise<{ count: number }> {
    return this.read(`${pathOf(id)}/count-failed?${queryOf(filter)}`);
  }

  explain(id: string, message: string, signal: AbortSignal): Promise<{ requests: ShownRequest[] }> {
    return this.read(`${pathOf(id)}/explain?${queryOf({ message })}`, signal);
  }

  /** Resolves to no number where it takes longer than an answer may, and goes on. */
  replay(id: string, filter: Fields): Promise<{ replayed?: number }> {
    return this.send('POST', `${pathOf(id)}/replay`, filter);
  }

  overview(signal: AbortSignal): Promise<Overview> {
    return this.report('/overview', signal);
  }

  sources(signal: AbortSignal): Promise<Sources> {
    return this.report('/sources', signal);
  }

  /**
   * Calls as they are made, as server-sent events.
   *
   * @param id of the latest one that is known
   */
  async live(id: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const headers = { ...(id !== undefined && { 'last-event-id': id }) };
    return streamIn(await this.fetch(`${this.consolePath}/live`, { headers, signal }));
  }

  /**
   * Tells when something has changed, as server-sent events.
   *
   * @param destination where; `undefined` for the overview
   */
  async changes(destination: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const query = destination === undefined ? '' : `?${queryOf({ destination })}`;
    return streamIn(await this.fetch(`${this.consolePath}/changes${query}`, { signal }));
  }

  /** @param signal aborts when nobody waits for it any more */
  private read<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.ask('GET', this.path + path, undefined, inTime(PATIENCE, signal));
  }

  private report<T>(path: string, signal: AbortSignal): Promise<T> {
    return this.ask('GET', this.consolePath + path, undefined, inTime(REPORT_PATIENCE, signal));
  }

  private send<T>(method: string, path: string, body?: Fields): Promise<T> {
    return this.ask(method, this.path + path, body);
  }

  private async ask<T>(method: string, url: string, body?: Fields, signal?: AbortSignal): Promise<T> {
    const response = await this.fetch(url, {
      method,
      ...(signal !== undefined && { signal }),
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status === 204) return undefined as T;
    return (await jsonOf(response)) as T;
  }

  /** @throws ApiError for an answer that is none */
  private async fetch(url: string, { headers, ...request }: RequestInit): Promise<Response> {
    const response = await fetch(url, {
      ...request,
      headers: {
        [CONSOLE_HEADER]: '1',
        ...(this.link !== undefined && { [LINK_HEADER]: this.link }),
        ...(headers as Record<string, string>),
      },
    }).catch(() => {
      throw new ApiError(
        'UNREACHABLE',
        'The application cannot be reached. Check the connection and try again.',
      );
    });
    if (response.ok) return response;
    const { error } = (await jsonOf(response)) as {
      error?: { code: string; message: string; problems?: OptionProblem[] };
    };
    if (error === undefined) throw unexpectedAnswer(response);
    throw new ApiError(error.code, error.message, error.problems);
  }
}

/** What is never answered would hold up all renewals, and whoever waits for it. */
function inTime(patience: number, signal?: AbortSignal): AbortSignal {
  const timeout = AbortSignal.timeout(patience);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}

/** @throws ApiError for an answer that is not the application's, such as the page of a proxy */
async function jsonOf(response: Response): Promise<object> {
  try {
    return (await response.json()) as object;
  } catch {
    throw unexpectedAnswer(response);
  }
}

/** @throws ApiError as `jsonOf` */
async function streamIn(response: Response): Promise<ReadableStream<Uint8Array>> {
  const { body, headers } = response;
  if (body !== null && headers.get('content-type')?.startsWith(STREAM_TYPE) === true) return body;
  // What comes instead may have no end.
  await body?.cancel();
  throw unexpectedAnswer(response);
}

function unexpectedAnswer({ status }: Response): ApiError {
  return new ApiError(
    'UNEXPECTED_ANSWER',
    `The answer (status ${status}) is not the application's: it may be restarting, or you may have to sign in again. ` +
      'Try again in a moment, or reload the page.',
  );
}

function queryOf(fields: Fields): URLSearchParams {
  return new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)]));
}

function pathOf(id: string): string {
  return `/${encodeURIComponent(id)}`;
}
