import type { Provider } from '@nestjs/common';
import { AudiencesService } from './audiences.service.js';
import { ChangeSteps } from './change-steps.js';
import { Membership } from './membership.js';
import { RunningChanges } from './running-changes.js';
import { createAudienceStore } from './stores/create-audience-store.js';
import { AnalyticsClient } from '../client/analytics-client.js';
import { UserEraser } from '../deliveries/user-eraser.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import { type ResolvedOptions, sourceNames } from '../options/resolved-options.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';

/** How long a process that died keeps an audience locked, in milliseconds. */
const LOCK_DURATION = 15_000;
/** Share of `shutdownTimeout` within which syncs have to end: the queue is closed after that. */
const PATIENCE_SHARE = 0.3;

async function createAudiences(
  { sources, audiences, shutdownTimeout }: ResolvedOptions,
  client: AnalyticsClient,
  { storage }: QueueBackend,
  eraser: UserEraser,
): Promise<AudiencesService> {
  const { store = await createAudienceStore(storage), ...defaults } = audiences;
  const running = new RunningChanges();
  const steps = new ChangeSteps(store, { lockDuration: LOCK_DURATION, signal: running.signal });
  const service = new AudiencesService(store, new Membership(store, steps, client), {
    sources: sourceNames(sources),
    defaults,
    patience: shutdownTimeout * PATIENCE_SHARE,
    running,
  });
  eraser.alsoRuns((users) => service.forget(users));
  return service;
}

export const AUDIENCES_PROVIDERS: Provider[] = [
  {
    provide: AudiencesService,
    inject: [RESOLVED_OPTIONS, AnalyticsClient, QUEUE_BACKEND, UserEraser],
    useFactory: createAudiences,
  },
];
