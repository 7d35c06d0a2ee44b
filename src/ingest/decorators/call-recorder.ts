import { types } from 'node:util';
import { InvalidMessageError, UnknownSourceError } from '../../errors/message.errors.js';
import { isGiven, unexpected } from '../../messages/message-checks.js';
import type { Identity, IdentityResolver } from '../../options/request-context.types.js';
import { isTenantName, TENANT_NAME } from '../../options/tenant-name.js';
import type { DecoratedCall, DecoratorDefinition } from './decorator-definition.js';
import type { DecoratorLog } from './decorator-log.js';
import type { DecoratorOptionsCheck } from './decorator-options-check.js';
import type { DecoratorType } from './decorator-options.types.js';

/** `AnalyticsClient` as the decorators call it. The client checks the fields, which may be anything here. */
export interface RecordingTarget {
  take(source: string, type: DecoratorType, fields: object, tenant: string | undefined): unknown;
}

/** For each type of call, the fields that come from options of the same name, apart from the identity. */
const OPTION_FIELDS: Readonly<Record<DecoratorType, readonly string[]>> = {
  track: ['event', 'properties', 'context', 'timestamp', 'integrations'],
  identify: ['traits', 'context', 'timestamp', 'integrations'],
  page: ['name', 'category', 'properties', 'context', 'timestamp', 'integrations'],
  screen: ['name', 'category', 'properties', 'context', 'timestamp', 'integrations'],
  group: ['groupId', 'traits', 'context', 'timestamp', 'integrations'],
  alias: ['context', 'timestamp', 'integrations'],
};

export interface CallRecorderOptions {
  /** Names of the sources. The first one is the default for decorators. */
  sources: readonly [string, ...string[]];
  identityOf: IdentityResolver;
}

/**
 * Makes messages from calls of decorated methods. The messages go directly to the client, not to `AnalyticsService`,
 * which a test may have replaced.
 */
export class CallRecorder {
  constructor(
    private readonly client: RecordingTarget,
    private readonly options: CallRecorderOptions,
    private readonly log: DecoratorLog,
    /** `undefined` in production. */
    private readonly optionsCheck?: DecoratorOptionsCheck,
  ) {}

  /** Records a call for one of the method's decorators. Never throws: errors are logged. */
  record(definition: DecoratorDefinition, call: DecoratedCall): void {
    try {
      this.optionsCheck?.look(definition, call.method);
      if (isWanted(definition, call)) this.send(definition, call);
    } catch (error) {
      this.log.failed(definition, call.method, error);
    }
  }

  private send(definition: DecoratorDefinition, call: DecoratedCall): void {
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
    this.client.take(this.sourceOf(source), type, fields, tenantOf(optionOf(definition, 'tenant', call)));
  }

  private sourceOf(source: unknown): string {
    const { sources } = this.options;
    if (typeof source !== 'string') return sources[0];
    if (sources.includes(source)) return source;
    throw new UnknownSourceError(source, sources);
  }

  /**
   * Returns the person that the decorator names, or else the person of the request. Never a mixture: an administrator's
   * anonymous id with a customer's user id would turn two people into one.
   */
  private personOf(definition: DecoratorDefinition, call: DecoratedCall): Record<string, unknown> {
    const userId = optionOf(definition, 'userId', call);
    const anonymousId = optionOf(definition, 'anonymousId', call);
    return isGiven(userId) || isGiven(anonymousId) ? { userId, anonymousId } : { ...this.requester(call) };
  }

  /** Returns the ids of an alias. It joins the anonymous person and the user of a request, so they may mix here. */
  private aliasOf(definition: DecoratorDefinition, call: DecoratedCall): Record<string, unknown> {
    const userId = optionOf(definition, 'userId', call);
    const previousId = optionOf(definition, 'previousId', call);
    if (isGiven(userId) && isGiven(previousId)) return { userId, previousId };
    const requester = this.requester(call);
    return {
      userId: isGiven(userId) ? userId : requester?.userId,
      previousId: isGiven(previousId) ? previousId : requester?.anonymousId,
    };
  }

  private requester({ context }: DecoratedCall): Identity | undefined {
    return context && this.options.identityOf(context);
  }
}

function tenantOf(value: unknown): string | undefined {
  if (value === undefined || isTenantName(value)) return value;
  throw unexpected('tenant', TENANT_NAME, value);
}

function isWanted(definition: DecoratorDefinition, call: DecoratedCall): boolean {
  const { on = 'success' } = definition.options;
  if (on !== 'settled' && (on === 'failure') !== call.failed) return false;
  return optionOf(definition, 'when', call) !== false;
}

function optionOf({ options }: DecoratorDefinition, name: string, call: DecoratedCall): unknown {
  const option = options[name];
  if (!isFunction(option)) return option;
  const value = option(call);
  if (!types.isPromise(value)) return value;
  // An unhandled rejection would end the process.
  value.catch(() => undefined);
  throw new InvalidMessageError(
    name,
    `Expected the function for \`${name}\` to return a value, got a promise: it must be synchronous`,
  );
}

function isFunction(value: unknown): value is (call: DecoratedCall) => unknown {
  return typeof value === 'function';
}
