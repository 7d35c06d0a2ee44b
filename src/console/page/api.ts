import type { Overview, Sources } from '../console-reports.js';
import type { FailedMessage } from '../../deliveries/failed-filter.js';
import type { HourStats, RecentDelivery } from '../../deliveries/history/history.types.js';
import type { DestinationDetails, DestinationPage } from '../../stored-destinations/destinations.types.js';
import type { ExplainedRequest } from '../../webhooks/diagnostics/explained-request.js';
import type { TestResult } from '../../webhooks/endpoint.js';
import { ApiRequests, type Fields } from './api-requests.js';

/** How long an answer may take, in milliseconds. The API never takes as long. */
const PATIENCE = 90_000;
/** How long a report may take, in milliseconds. The application always answers within about ten seconds. */
const REPORT_PATIENCE = 20_000;

/** Number of destinations that are loaded at first, and with each further page. The search covers only these. */
const FIRST_PAGE = '100';
const NEXT_PAGE = '1000';

/** A request that would be sent for a message. */
export type ShownRequest = Pick<ExplainedRequest, 'method' | 'url' | 'headers' | 'curl'> & { body: string };

/** Result of a replay. */
export interface Replayed {
  /** Number of messages; `undefined` if the replay still goes on. */
  replayed?: number;
  /** Why no message was replayed, if the API knows. */
  reason?: string;
}

/** The HTTP API of the destinations, as a page calls it. */
export class Api {
  private readonly requests: ApiRequests;
  private readonly path: string;
  private readonly consolePath: string;

  /**
   * @param base path under which the browser knows the application; empty for the root of its host
   * @param paths paths of the API and of the console within the application
   * @param link token behind the `#` of a link
   */
  constructor(
    readonly base: string,
    paths: { api: string; console: string },
    link?: string,
  ) {
    this.path = base + paths.api;
    this.consolePath = base + paths.console;
    this.requests = new ApiRequests(link);
  }

  /** @param cursor the cursor that the previous page returned */
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

  /** Resolves without a number if the replay takes longer than an answer may. The replay then goes on. */
  replay(id: string, filter: Fields): Promise<Replayed> {
    return this.send('POST', `${pathOf(id)}/replay`, filter);
  }

  overview(signal: AbortSignal): Promise<Overview> {
    return this.report('/overview', signal);
  }

  sources(signal: AbortSignal): Promise<Sources> {
    return this.report('/sources', signal);
  }

  /**
   * Opens the stream of calls, as server-sent events.
   *
   * @param id id of the latest event that the page has received
   */
  live(id: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const headers = { ...(id !== undefined && { 'last-event-id': id }) };
    return this.requests.stream(`${this.consolePath}/live`, signal, headers);
  }

  /**
   * Opens a stream that tells when something has changed, as server-sent events.
   *
   * @param destination id of the destination that is watched; `undefined` for the overview
   */
  changes(destination: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const query = destination === undefined ? '' : `?${queryOf({ destination })}`;
    return this.requests.stream(`${this.consolePath}/changes${query}`, signal);
  }

  /** @param signal aborts when nobody waits for the answer any more */
  private read<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.requests.read(this.path + path, PATIENCE, signal);
  }

  private report<T>(path: string, signal: AbortSignal): Promise<T> {
    return this.requests.read(this.consolePath + path, REPORT_PATIENCE, signal);
  }

  private send<T>(method: string, path: string, body?: Fields): Promise<T> {
    return this.requests.send(method, this.path + path, body);
  }
}

/** A list becomes a parameter for each of its values. */
function queryOf(fields: Fields): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of [value].flat()) query.append(name, String(one));
  }
  return query;
}

function pathOf(id: string): string {
  return `/${encodeURIComponent(id)}`;
}
