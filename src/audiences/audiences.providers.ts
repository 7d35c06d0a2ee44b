import type { Provider } from '@nestjs/common';
import { AudiencesService } from './audiences/audiences.service.js';
import { ChangeSteps } from './audiences/change-steps.js';
import { createAudienceStore } from './audiences/create-audience-store.js';
import { Membership } from './audiences/membership.js';
import { AnalyticsClient } from './client/analytics-client.js';
import { RESOLVED_OPTIONS } from './options/options.tokens.js';
import type { ResolvedOptions } from './options/resolved-options.js';
import { QUEUE_BACKEND } from './queue/queue.constants.js';
import type { QueueBackend } from './queue/queue-backend.js';

/** How long a process that died keeps an audience locked, in milliseconds. */
const LOCK_DURATION = 15_000;
/** The share of `shutdownTimeout` that syncs have to end in: the queue is closed after it. */
const PATIENCE_SHARE = 0.3;

function createAudiences(
  { sources: [first, ...rest], audiences, shutdownTimeout }: ResolvedOptions,
  client: AnalyticsClient,
  { storage }: QueueBackend,
): AudiencesService {
  const { store = createAudienceStore(storage), ...defaults } = audiences;
  const stop = new AbortController();
  const steps = new ChangeSteps(store, { lockDuration: LOCK_DURATION, signal: stop.signal });
  return new AudiencesService(store, new Membership(store, steps, client), {
    sources: [first.name, ...rest.map(({ name }) => name)],
    defaults,
    patience: shutdownTimeout * PATIENCE_SHARE,
    stop,
  });
}

export const AUDIENCES_PROVIDERS: Provider[] = [
  {
    provide: AudiencesService,
    inject: [RESOLVED_OPTIONS, AnalyticsClient, QUEUE_BACKEND],
    useFactory: createAudiences,
  },
];
