import type { HttpAnswer } from '../http/http-answer.js';
import type { ApiRequest } from './api-request.js';
import type { OperationName } from './api-routes.js';

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

/** Writes a line for each change that somebody made through the API: who, what, and to which destination. */
export class AuditLog {
  constructor(private readonly logger: { log(message: string): void }) {}

  /** An operation was done; one that was refused has changed nothing. */
  note(
    operation: OperationName,
    { scope, id, isByLink }: Pick<ApiRequest, 'scope' | 'id' | 'isByLink'>,
    answer: HttpAnswer,
  ): void {
    const action = ACTIONS.get(operation);
    if (action === undefined || answer.status >= 300) return;
    const who = scope.tenant === undefined ? 'the operator' : `the tenant ${JSON.stringify(scope.tenant)}`;
    const destination = id === '' ? (answer.headers.location?.split('/').at(-1) ?? '') : id;
    const way = isByLink ? ', through a link to the console' : '';
    this.logger.log(`Audit: ${who} ${action} the destination ${JSON.stringify(destination)}${way}.`);
  }
}
