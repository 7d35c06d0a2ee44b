import type { IncomingMessage } from 'node:http';
import type { TrackingRoute } from './tracking-paths.js';

/** A request to the tracking API, as the host's framework hands it over. */
export interface TrackingRequest {
  route: TrackingRoute;
  /** Not read by anybody yet. */
  raw: IncomingMessage;
  /** The sender's address, as the framework knows it behind its trusted proxies. */
  ip: string | undefined;
}
