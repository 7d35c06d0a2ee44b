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

/** Header in which the page of a console link sends the link's token, which follows the `#`. */
const LINK_HEADER = 'x-analytics-link';

/** Longest name in the log, in characters. */
const MAX_NAME = 200;

/** Who has sent a request. */
export interface Sender {
  /** What the sender may see: a tenant's destinations, or everything for the operator. */
  scope: DestinationScope;
  /** Name that the application gives the sender; `undefined` if it gives none. */
  name: string | undefined;
  /** Whether the request came through a link to the console, whose user need not have signed in. */
  isByLink: boolean;
}

/** Asks the application who has sent a request, and accepts only an unambiguous answer. */
export class Authorizer {
  /** By tenant; `''` stands for the operator. */
  private readonly rate = new RequestRate(() => performance.now());

  constructor(
    private readonly authorize: DestinationsApiOptions['authorize'],
    /** Name of the option that holds `authorize`. */
    private readonly option: string,
    private readonly log: LimitedLog,
    /** Finds the tenant of a link; `undefined` in an application without links. */
    private readonly links?: Pick<ConsoleLinks, 'tenantOf'>,
  ) {}

  /**
   * Resolves to the sender of a request.
   *
   * @throws {RequestRefusal} if the sender is unknown or asks too often, or if the application's function fails
   */
  async senderOf(request: IncomingMessage): Promise<Sender> {
    const sender = (await this.senderByLink(request)) ?? (await this.signedIn(request));
    this.rate.count(sender.scope.tenant ?? '');
    return sender;
  }

  /** Resolves to what the sender may see. @throws {RequestRefusal} as `senderOf` */
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

  /** Logs a fault of the application's function, within limits: a stranger may cause it as often as they like. */
  private tell(what: string): void {
    if (!this.log.hasRoomFor(1)) return;
    this.log.warn(
      `\`${this.option}\` ${what}, so the request was answered 500. Return \`undefined\` for ` +
        'an unknown sender.',
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
