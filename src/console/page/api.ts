import type { Overview, Sources } from '../console-reports.js';
import type { FailedMessage } from '../../deliveries/failed-filter.js';
import type { HourStats, RecentDelivery } from '../../deliveries/history/history.types.js';
import type { DestinationDetails, DestinationPage } from '../../stored-destinations/destinations.types.js';
import type { ExplainedRequest } from '../../webhooks/diagnostics/explained-request.js';
import type { TestResult } from '../../webhooks/endpoint.js';
import { ApiRequests, type Fields } from './api-requests.js';

/** How long what is read may take, in milliseconds: longer than the API takes for anything. */
const PATIENCE = 90_000;
/** The same for what the application answers within some ten seconds, whatever happens. */
const REPORT_PATIENCE = 20_000;

/** Destinations that are loaded at first, and at once if more are wanted: the search looks through those. */
const FIRST_PAGE = '100';
const NEXT_PAGE = '1000';

/** A request that would be sent. */
export type ShownRequest = Pick<ExplainedRequest, 'method' | 'url' | 'headers' | 'curl'> & { body: string };

/** What a replay has come to. */
export interface Replayed {
  /** Messages; `undefined` where it goes on. */
  replayed?: number;
  /** Why there are none, where the API knows it. */
  reason?: string;
}

/** The HTTP API of the destinations, as a page calls it. */
export class Api {
  private readonly requests: ApiRequests;
  private readonly path: string;
  private readonly consolePath: string;

  /**
   * @param base path under which the browser knows the application; empty for the root of its host
   * @param paths where the API and the console are in the application
   * @param link what was behind the `#` of a link
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
   * Calls as they are made, as server-sent events.
   *
   * @param id of the latest one that is known
   */
  live(id: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const headers = { ...(id !== undefined && { 'last-event-id': id }) };
    return this.requests.stream(`${this.consolePath}/live`, signal, headers);
  }

  /**
   * Tells when something has changed, as server-sent events.
   *
   * @param destination where; `undefined` for the overview
   */
  changes(destination: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const query = destination === undefined ? '' : `?${queryOf({ destination })}`;
    return this.requests.stream(`${this.consolePath}/changes${query}`, signal);
  }

  /** @param signal aborts when nobody waits for it any more */
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

function queryOf(fields: Fields): URLSearchParams {
  return new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)]));
}

function pathOf(id: string): string {
  return `/${encodeURIComponent(id)}`;
}
