import type { IncomingMessage } from 'node:http';
import { thrownAt } from '../shared/thrown-at.js';
import type { DestinationScope } from '../stored-destinations/destinations.types.js';
import { RequestRate } from '../http/request-rate.js';
import { RequestRefusal } from '../http/request-refusal.js';
import { describeType, isRecord } from '../options/option-reader.js';
import type { DestinationsApiOptions } from '../options/destinations-options.interface.js';
import { isTenantName } from '../options/tenant-name.js';
import type { LimitedLog } from '../queue/limited-log.js';
import { internalError } from './api-answer.js';
import type { ConsoleLinks } from './links/console-links.js';

/** The header in which the page of a link sends what was behind the `#`. */
const LINK_HEADER = 'x-analytics-link';

/** Characters of a name in the log. */
const MAX_NAME = 200;

/** Who has sent a request. */
export interface Sender {
  /** What they may see: a tenant, or everything for the operator. */
  scope: DestinationScope;
  /** As the application calls them; `undefined` where it does not say. */
  name: string | undefined;
  /** Whether the request came through a link to the console: whoever has it need not have signed in. */
  isByLink: boolean;
}

/** Asks the application who has sent a request, and accepts only an answer that is clear. */
export class Authorizer {
  /** By the tenant; empty for the operator. */
  private readonly rate = new RequestRate(() => performance.now());

  constructor(
    private readonly authorize: DestinationsApiOptions['authorize'],
    /** The name of the option. */
    private readonly option: string,
    private readonly log: LimitedLog,
    /** Whose link a request came by; `undefined` in an application that makes none. */
    private readonly links?: Pick<ConsoleLinks, 'tenantOf'>,
  ) {}

  /**
   * @throws {RequestRefusal} for somebody who is not known or asks too often, and if the application's function
   *   failed
   */
  async senderOf(request: IncomingMessage): Promise<Sender> {
    const sender = (await this.senderByLink(request)) ?? (await this.signedIn(request));
    this.rate.count(sender.scope.tenant ?? '');
    return sender;
  }

  /** What the sender may see. @throws {RequestRefusal} as `senderOf` */
  async scopeOf(request: IncomingMessage): Promise<DestinationScope> {
    return (await this.senderOf(request)).scope;
  }

  private async senderByLink({ headers }: IncomingMessage): Promise<Sender | undefined> {
    const token = headers[LINK_HEADER];
    if (this.links === undefined || typeof token !== 'string') return undefined;
    return { scope: { tenant: await this.links.tenantOf(token) }, name: undefined, isByLink: true };
  }

  private async signedIn(request: IncomingMessage): Promise<Sender> {
    const access = await this.ask(request);
    if (access === undefined || access === null) {
      throw new RequestRefusal(401, 'UNAUTHORIZED', 'The application does not know who sent this request.');
    }
    const sender = senderIn(access);
    if (sender !== undefined) return sender;
    this.tell(
      `returned ${describeType(access)} that is neither \`{ tenant }\` with a tenant's name nor ` +
        '`{ operator: true }`, each with a `name` that is a string or without one',
    );
    throw internalError();
  }

  private async ask(request: IncomingMessage): Promise<unknown> {
    try {
      return await this.authorize(request);
    } catch (error) {
      this.tell(`threw ${thrownAt(error)}`);
      throw internalError();
    }
  }

  /** A stranger can make it throw as often as they like. */
  private tell(what: string): void {
    if (!this.log.hasRoomFor(1)) return;
    this.log.warn(
      `\`${this.option}\` ${what}, so the request was answered 500. Return \`undefined\` for ` +
        'somebody who is not known.',
    );
  }
}

/** `{ tenant: undefined }` is a mistake, and must not make anybody the operator. */
function senderIn(access: unknown): Sender | undefined {
  if (!isRecord(access)) return undefined;
  const { tenant, operator = false, name = '' } = access;
  if (typeof name !== 'string') return undefined;
  const rest = { name: name === '' ? undefined : name.slice(0, MAX_NAME), isByLink: false };
  if (operator === false && isTenantName(tenant)) return { scope: { tenant }, ...rest };
  return operator === true && tenant === undefined ? { scope: {}, ...rest } : undefined;
}
