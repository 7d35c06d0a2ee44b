import type { HttpAnswer } from '../http/http-answer.js';
import { quoted } from '../shared/quoted.js';
import { codeOf, isRefusal } from './api-answer.js';
import type { ApiRequest } from './api-request.js';
import type { OperationName } from './api-routes.js';
import type { Sender } from './authorizer.js';

/** What was done to a destination, as the verb of a sentence. Operations that only read are not here. */
const ACTIONS: ReadonlyMap<OperationName, string> = new Map<OperationName, string>([
  ['create', 'added'],
  ['update', 'changed'],
  ['remove', 'deleted'],
  ['enable', 'enabled'],
  ['disable', 'disabled'],
  ['rotateSecret', 'rotated the secret of'],
  ['sendTest', 'sent a test event to'],
  ['replay', 'replayed failed messages of'],
]);

/** Who has sent a request, and what for. */
type AuditedRequest = Pick<ApiRequest, keyof Sender | 'id'>;

/**
 * Writes one line for each change that somebody has asked for through the API: who, what, and to which destination.
 * None for a request that was refused: it has changed nothing.
 */
export class AuditLog {
  constructor(private readonly logger: { log(message: string): void }) {}

  /** It was done. */
  done(operation: OperationName, request: AuditedRequest, { headers }: HttpAnswer): void {
    const id = request.id === '' ? headers.location?.split('/').at(-1) : request.id;
    this.write(operation, { ...request, id: id ?? '' }, '');
  }

  /** It failed, or was refused. */
  failed(operation: OperationName, request: AuditedRequest, error: unknown): void {
    if (isRefusal(error)) return;
    const what = `It failed (${codeOf(error)}), and may have been done all the same, or in part.`;
    this.write(operation, request, ` ${what}`);
  }

  /** It goes on after its answer. @param patience how long the answer has waited for it, in milliseconds */
  late(operation: OperationName, request: AuditedRequest, patience: number): void {
    this.write(operation, request, ` It was still going on after ${patience / 1_000} seconds.`);
  }

  private write(
    operation: OperationName,
    { id, isByLink, ...sender }: AuditedRequest,
    /** A sentence; empty where all went well. */
    outcome: string,
  ): void {
    const action = ACTIONS.get(operation);
    if (action === undefined) return;
    const destination = id === '' ? 'a destination' : `the destination ${quoted(id)}`;
    const way = isByLink ? ', through a link to the console' : '';
    this.logger.log(`Audit: ${textOf(sender)} ${action} ${destination}${way}.${outcome}`);
  }
}

function textOf({ scope: { tenant }, name }: Pick<Sender, 'scope' | 'name'>): string {
  if (tenant === undefined) return name === undefined ? 'the operator' : `the operator ${quoted(name)}`;
  const owner = `the tenant ${quoted(tenant)}`;
  return name === undefined ? owner : `${quoted(name)} of ${owner}`;
}
