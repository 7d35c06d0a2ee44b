import { types } from 'node:util';
import { InvalidMessageError } from '../errors/invalid-message.error.js';
import type { Identity, IdentityResolver } from './request-context.types.js';
import type { TrackDefinition, TrackedCall } from './track-definition.js';
import type { TrackingLog } from './tracking-log.js';
import { OPTION_FIELDS, type TrackingTarget } from './tracking-target.js';

/** Makes messages of the calls of decorated methods. */
export class Tracker {
  constructor(
    private readonly service: TrackingTarget,
    private readonly identityOf: IdentityResolver,
    private readonly log: TrackingLog,
  ) {}

  /** Records a call as one of the method's decorators says. Never throws: what goes wrong is logged. */
  record(definition: TrackDefinition, call: TrackedCall): void {
    try {
      if (isWanted(definition, call)) this.send(definition, call);
    } catch (error) {
      this.log.failed(definition, call.method, error);
    }
  }

  private send(definition: TrackDefinition, call: TrackedCall): void {
    const { type } = definition;
    const fields: Record<string, unknown> =
      type === 'alias' ? this.aliasOf(definition, call) : this.personOf(definition, call);
    if (type === 'alias' && !(isGiven(fields.userId) && isGiven(fields.previousId))) {
      this.log.noIdentity(definition, call.method, '`userId` or no `previousId`');
      return;
    }
    if (type !== 'alias' && !isGiven(fields.userId) && !isGiven(fields.anonymousId)) {
      this.log.noIdentity(definition, call.method, '`userId` and no `anonymousId`');
      return;
    }
    for (const field of OPTION_FIELDS[type]) fields[field] = optionOf(definition, field, call);
    const source = optionOf(definition, 'source', call);
    const service = typeof source === 'string' ? this.service.source(source) : this.service;
    service[type](fields);
  }

  /**
   * The person that the decorator names, else the one of the request. Never a mixture: an administrator's
   * anonymous id beside the id of a customer would make one person of the two.
   */
  private personOf(definition: TrackDefinition, call: TrackedCall): Record<string, unknown> {
    const userId = optionOf(definition, 'userId', call);
    const anonymousId = optionOf(definition, 'anonymousId', call);
    return isGiven(userId) || isGiven(anonymousId) ? { userId, anonymousId } : { ...this.requester(call) };
  }

  /** To make one of the anonymous person and the user of a request is what an alias is for. */
  private aliasOf(definition: TrackDefinition, call: TrackedCall): Record<string, unknown> {
    const userId = optionOf(definition, 'userId', call);
    const previousId = optionOf(definition, 'previousId', call);
    if (isGiven(userId) && isGiven(previousId)) return { userId, previousId };
    const requester = this.requester(call);
    return {
      userId: isGiven(userId) ? userId : requester?.userId,
      previousId: isGiven(previousId) ? previousId : requester?.anonymousId,
    };
  }

  private requester({ context }: TrackedCall): Identity | undefined {
    return context && this.identityOf(context);
  }
}

function isWanted(definition: TrackDefinition, call: TrackedCall): boolean {
  const { on = 'success' } = definition.options;
  if (on !== 'settled' && (on === 'failure') !== call.failed) return false;
  return optionOf(definition, 'when', call) !== false;
}

/** The value of an option for a call. */
function optionOf({ options }: TrackDefinition, name: string, call: TrackedCall): unknown {
  const option = options[name];
  if (!isFunction(option)) return option;
  const value = option(call);
  if (!types.isPromise(value)) return value;
  // It is refused, so its failure concerns nobody; unheard, it would end the process.
  value.catch(() => undefined);
  throw new InvalidMessageError(
    name,
    `Expected the function for \`${name}\` to return a value, got a promise: it must be synchronous`,
  );
}

function isFunction(value: unknown): value is (call: TrackedCall) => unknown {
  return typeof value === 'function';
}

/** As the client sees it: an empty text is none. */
function isGiven(id: unknown): boolean {
  return id !== undefined && id !== null && id !== '';
}
