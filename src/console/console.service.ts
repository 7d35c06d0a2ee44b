import type { ConsoleLinks } from '../destinations-api/links/console-links.js';
import { ConsoleDisabledError, InvalidConsoleLinkError } from '../errors/console.errors.js';
import { type OptionRules, problemsOfCall } from '../options/call-options.js';
import type { ConsolePath } from '../options/resolve-console.js';
import { isTenantName, TENANT_NAME } from '../options/tenant-name.js';
import type { WhileOpen } from '../shared/application-end.js';

/** Path of the page that a link opens, below the console's path. */
export const LINK_PATH = '/link' satisfies ConsolePath;

/** Default lifetime of a link, in milliseconds: an hour. */
const EXPIRES_IN = 3_600_000;

/** Whom a link is for, and for how long. */
export interface ConsoleLinkOptions {
  /** The tenant whose destinations the link shows, and no others. */
  tenant: string;
  /** Lifetime of the link, in milliseconds: at most 30 days. @default 3600000 (an hour) */
  expiresIn?: number;
}

const TENANT: OptionRules<Pick<ConsoleLinkOptions, 'tenant'>> = {
  tenant: { expected: TENANT_NAME, accepts: isTenantName, presence: 'required' },
};
const LINK: OptionRules<ConsoleLinkOptions> = {
  ...TENANT,
  expiresIn: { expected: 'a number of milliseconds', accepts: (value) => typeof value === 'number' },
};

export interface ConsoleParts {
  links: ConsoleLinks;
  /** Path of the console. */
  path: string;
}

/** Makes links with which your customers open the console without signing in, also in a frame of your own page. */
export class ConsoleService {
  /** @param parts `undefined` in an application without the console */
  constructor(private readonly parts: WhileOpen<ConsoleParts | undefined>) {}

  /**
   * Returns a signed link to the console for a user who may see the destinations of a tenant. The link is a path such
   * as `/analytics/link#…`: put the origin of this application before it, with the path below which a proxy serves it.
   * The part behind the `#` identifies the tenant, and browsers send it to no server. Whoever has the link can do all
   * that the tenant can, until the link expires or `revokeLinks` ends it. So make a link only for a user who is signed
   * in, when it is needed.
   *
   * @throws ConsoleDisabledError without the option `console`; ConsoleLinkKeyError without
   *   `destinations.encryptionKey`, with which links are signed; InvalidConsoleLinkError for wrong fields
   *
   * @example
   * const src = `https://app.example.com${console.linkFor({ tenant: 'acme', expiresIn: 900_000 })}`
   */
  linkFor(options: ConsoleLinkOptions): string {
    const { links, path } = this.given;
    check(options, LINK);
    const { tenant, expiresIn = EXPIRES_IN } = options;
    return `${path}${LINK_PATH}#${links.create(tenant, expiresIn)}`;
  }

  /**
   * Ends all links of a tenant that were made until now, in all processes. Pages that are open stop at their
   * next request. A link that this process makes after the promise has resolved is valid. For a link that another
   * process makes, the clock of that process decides.
   *
   * @throws ConsoleDisabledError; InvalidConsoleLinkError for an id that no tenant can have
   */
  async revokeLinks(options: { tenant: string }): Promise<void> {
    const { links } = this.given;
    check(options, TENANT);
    await links.revoke(options.tenant);
  }

  private get given(): ConsoleParts {
    const parts = this.parts();
    if (parts === undefined) throw new ConsoleDisabledError();
    return parts;
  }
}

/** Untyped code may pass anything. @throws InvalidConsoleLinkError */
function check(options: object, rules: Parameters<typeof problemsOfCall>[1]): void {
  const [problem] = problemsOfCall(options, rules, 'options');
  if (problem !== undefined) throw new InvalidConsoleLinkError(problem.path, problem.expected, problem.given);
}
