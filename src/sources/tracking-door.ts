import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { thrownAt } from '../errors/thrown-at.js';
import { RequestRefusal } from './request-refusal.js';
import {
  failedAnswer,
  PREFLIGHT_ANSWER,
  refusedAnswer,
  type TrackingAnswer,
  writeAnswer,
} from './tracking-answer.js';
import type { TrackingApi } from './tracking-api.js';
import { trackingRoute } from './tracking-paths.js';
import type { TrackingRequest } from './tracking-request.js';

export interface DoorLogger {
  error(message: string): void;
}

/** The tracking API at HTTP: tells which requests are its own, and answers every one of them. */
export class TrackingDoor implements BeforeApplicationShutdown {
  private isClosing = false;

  /** @param path stands before `/v1/…` */
  constructor(
    private readonly api: Pick<TrackingApi, 'handle'>,
    private readonly path: string,
    private readonly logger: DoorLogger,
  ) {}

  /** The web server waits for its connections to end, and a client may keep an idle one for minutes. */
  beforeApplicationShutdown(): void {
    this.isClosing = true;
  }

  /** Whether a request is to be answered here; all others are the host's. */
  owns({ method, url }: { method?: string | undefined; url?: string | undefined }): boolean {
    return (method === 'POST' || method === 'OPTIONS') && trackingRoute(url ?? '', this.path) !== undefined;
  }

  /** Answers a request that is its own, and whose body nobody has read. Never rejects. */
  async answer(raw: IncomingMessage, response: ServerResponse, ip: string | undefined): Promise<void> {
    const route = trackingRoute(raw.url ?? '', this.path);
    if (route === undefined) return;
    const answer = raw.method === 'OPTIONS' ? PREFLIGHT_ANSWER : await this.handle({ route, raw, ip });
    if (this.isClosing) response.shouldKeepAlive = false;
    writeAnswer(response, answer);
  }

  private async handle(request: TrackingRequest): Promise<TrackingAnswer> {
    try {
      return await this.api.handle(request);
    } catch (error) {
      if (error instanceof RequestRefusal) return refusedAnswer(error);
      // Nobody is left to hear an answer where the sender has hung up.
      if (!request.raw.destroyed)
        this.logger.error(`A request to the tracking API failed: ${thrownAt(error)}`);
      return failedAnswer();
    }
  }
}
