import { LaterLines } from '../deliveries/later-lines.js';
import type { HttpAnswer } from '../http/http-answer.js';
import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import { countOf } from '../shared/count-of.js';
import { quoted } from '../shared/quoted.js';
import { codeOf, isRefusal } from './api-answer.js';
import type { ApiRequest } from './api-request.js';
import type { OperationName } from './api-routes.js';
import type { Sender } from './authorizer.js';

/** Verb for the log line of each operation. Operations that only read have none. */
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

/** Maximum number of lines for a tenant in a minute. One line at its end counts all further operations. */
const LINES = 60;
const MINUTE = 60_000;

/** What a tenant has done within a minute. The minute begins with its first operation. */
interface Minute {
  lines: number;
  /** Number of operations without a line of their own, by action. */
  readonly more: Map<string, number>;
  /** Number of those operations that failed or were still running. */
  incomplete: number;
}

/** The sender of a request, and the destination that the request is about. */
type AuditedRequest = Pick<ApiRequest, keyof Sender | 'id'>;

/**
 * Writes one line for each change that is requested through the API: who, what, and to which destination. A refused
 * request has changed nothing and gets no line. If a tenant requests very many changes, most of them are only counted,
 * so that they leave room in the log for others. Each change by the operator gets a line.
 */
export class AuditLog {
  private readonly minutes = new Map<string, Minute>();
  private readonly summaries: LaterLines;
  private isClosed = false;

  constructor(
    private readonly logger: { log(message: string): void },
    clock: Clock = SYSTEM_CLOCK,
  ) {
    this.summaries = new LaterLines(clock);
  }

  /** Records an operation that was done. */
  done(operation: OperationName, request: AuditedRequest, { headers }: HttpAnswer): void {
    const id = request.id === '' ? headers.location?.split('/').at(-1) : request.id;
    this.write(operation, { ...request, id: id ?? '' }, '');
  }

  /** Records an operation that failed. Ignores a refused one. */
  failed(operation: OperationName, request: AuditedRequest, error: unknown): void {
    if (isRefusal(error)) return;
    const what = `It failed (${codeOf(error)}), but may have been done completely or in part.`;
    this.write(operation, request, ` ${what}`);
  }

  /** Records an operation that continues after its answer. @param patience milliseconds that the answer has waited */
  late(operation: OperationName, request: AuditedRequest, patience: number): void {
    this.write(operation, request, ` It was still running after ${patience / 1_000} seconds.`);
  }

  /** Writes the open counts. Operations that end later each get a line, since no summary follows. */
  close(): void {
    this.isClosed = true;
    this.summaries.close();
  }

  private write(
    operation: OperationName,
    { id, isByLink, ...sender }: AuditedRequest,
    /** A sentence; empty if all went well. */
    outcome: string,
  ): void {
    const action = ACTIONS.get(operation);
    if (action === undefined) return;
    if (!this.takeLine(sender.scope.tenant, action, outcome !== '')) return;
    const destination = id === '' ? 'a destination' : `the destination ${quoted(id)}`;
    const way = isByLink ? ', through a link to the console' : '';
    this.logger.log(`Audit: ${textOf(sender)} ${action} ${destination}${way}.${outcome}`);
  }

  /** Returns whether there is room for a line. If not, counts the operation instead. */
  private takeLine(tenant: string | undefined, action: string, isIncomplete: boolean): boolean {
    if (tenant === undefined || this.isClosed) return true;
    const minute = this.minutes.get(tenant) ?? this.begin(tenant);
    if (minute.lines < LINES) {
      minute.lines++;
      return true;
    }
    minute.more.set(action, (minute.more.get(action) ?? 0) + 1);
    if (isIncomplete) minute.incomplete++;
    return false;
  }

  private begin(tenant: string): Minute {
    const minute: Minute = { lines: 0, more: new Map(), incomplete: 0 };
    this.minutes.set(tenant, minute);
    this.summaries.after(MINUTE, () => {
      this.minutes.delete(tenant);
      if (minute.more.size > 0) this.logger.log(`Audit: ${summaryOf(tenant, minute)}`);
    });
    return minute;
  }
}

function textOf({ scope: { tenant }, name }: Pick<Sender, 'scope' | 'name'>): string {
  if (tenant === undefined) return name === undefined ? 'the operator' : `the operator ${quoted(name)}`;
  const owner = `the tenant ${quoted(tenant)}`;
  return name === undefined ? owner : `${quoted(name)} of ${owner}`;
}

function summaryOf(tenant: string, { more, incomplete }: Minute): string {
  const count = [...more.values()].reduce((sum, times) => sum + times);
  const actions = Array.from(more, ([action, times]) => `${times} × ${action} a destination`).join(', ');
  const rest =
    incomplete === 0
      ? ''
      : ` ${incomplete} of them failed, or ${incomplete === 1 ? 'was' : 'were'} still running.`;
  return `${countOf(count, 'more change')} by the tenant ${quoted(tenant)} within a minute, without a line for each: ${actions}.${rest}`;
}
