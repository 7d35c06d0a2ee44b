import type { Provider } from '@nestjs/common';
import { AudiencesService } from './audiences.service.js';
import { ChangeSteps } from './change-steps.js';
import { DeletedMembers, type MemberOwner } from './deleted-members.js';
import { Membership } from './membership.js';
import { RunningChanges } from './running-changes.js';
import { createAudienceStore } from './stores/create-audience-store.js';
import { AnalyticsClient } from '../client/analytics-client.js';
import type { CreatedMessage } from '../client/message-factory.js';
import { TenantThrew } from '../destinations/tenant-threw.js';
import { UserEraser } from '../deliveries/user-eraser.js';
import { groupOf } from '../messages/context-group.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import type { ResolvedDestinations } from '../options/resolve-destinations.js';
import { type ResolvedOptions, sourceNames } from '../options/resolved-options.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';

/** How long a process that died keeps an audience locked, in milliseconds. */
const LOCK_DURATION = 15_000;
/** Share of `shutdownTimeout` within which syncs have to end: the queue is closed after that. */
const PATIENCE_SHARE = 0.3;

async function createAudiences(
  { sources, audiences, destinations, shutdownTimeout }: ResolvedOptions,
  client: AnalyticsClient,
  { storage }: QueueBackend,
  eraser: UserEraser,
): Promise<AudiencesService> {
  const { store = await createAudienceStore(storage), ...defaults } = audiences;
  const running = new RunningChanges();
  const steps = new ChangeSteps(store, { lockDuration: LOCK_DURATION, signal: running.signal });
  const membership = new Membership(store, steps, client);
  const deleted = new DeletedMembers(store, membership, memberOwner(client, destinations?.tenantOf));
  eraser.alsoRuns((users, onProgress) => deleted.forget(users, onProgress));
  return new AudiencesService(store, membership, {
    sources: sourceNames(sources),
    defaults,
    patience: shutdownTimeout * PATIENCE_SHARE,
    running,
  });
}

/**
 * Returns the function that finds the tenant of a member. If the source names no tenant, the application's function
 * decides.
 *
 * @param tenantOf the application's function. @default the group of the message
 */
function memberOwner(
  client: Pick<AnalyticsClient, 'ofJob'>,
  tenantOf: ResolvedDestinations['tenantOf'] = groupOf,
): MemberOwner {
  return (trait, source = '', userId) => {
    let call: CreatedMessage;
    try {
      call = client.ofJob(source, 'identify', { userId, traits: { [trait]: true } });
    } catch {
      // Calls about this user are refused for the same reason, so no tenant has such a member.
      return undefined;
    }
    try {
      return call.tenant ?? tenantOf(call.message);
    } catch (error) {
      return new TenantThrew(error);
    }
  };
}

export const AUDIENCES_PROVIDERS: Provider[] = [
  {
    provide: AudiencesService,
    inject: [RESOLVED_OPTIONS, AnalyticsClient, QUEUE_BACKEND, UserEraser],
    useFactory: createAudiences,
  },
];
