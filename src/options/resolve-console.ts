import type { ConsoleOptions } from './console-options.interface.js';
import { describe, describeType, isRecord, OptionReader } from './option-reader.js';
import type { ResolvedDestinations } from './resolve-destinations.js';
import { resolveAuthorize } from './resolve-destinations-api.js';
import { isWithin, resolvePath } from './resolve-path.js';

const KNOWN: readonly string[] = ['path', 'authorize', 'frameAncestors'] satisfies (keyof ConsoleOptions)[];
const DEFAULT_PATH = '/analytics';

/** Paths that the console serves, below its own path. */
export const CONSOLE_PATHS = [
  '',
  '/link',
  '/page.js',
  '/page.css',
  '/overview',
  '/sources',
  '/live',
  '/changes',
] as const;
export type ConsolePath = (typeof CONSOLE_PATHS)[number];

/** An origin; its first label may be `*`. */
const ORIGIN = /^https?:\/\/(\*\.)?[a-z0-9.-]+(:\d+)?$/i;

/** The console, with every default filled in. */
export type ResolvedConsole = Required<ConsoleOptions>;

/** Reads `console`; `undefined` for an application without it. */
export function resolveConsole(options: OptionReader): ResolvedConsole | undefined {
  const given = options.get('console');
  if (given === undefined) return undefined;
  if (!isRecord(given)) {
    options.report('console', '`{ authorize, path, frameAncestors }`', describeType(given));
    return undefined;
  }
  if (options.get('destinations') === undefined) {
    options.report('destinations', 'a value, because `console` shows the destinations', 'undefined');
  }
  const own = new OptionReader(given, 'console', options.problems);
  own.onlyKnows(KNOWN);
  const path = resolvePath(own, DEFAULT_PATH, `a path such as \`${DEFAULT_PATH}\``);
  const authorize = resolveAuthorize(own);
  const frameAncestors = resolveFrameAncestors(own);
  return authorize && { path, authorize, frameAncestors };
}

/** Reads `frameAncestors`, which become part of a header. */
function resolveFrameAncestors(console: OptionReader): string[] {
  const given = console.array('frameAncestors', "an array of origins or 'self'") ?? [];
  return given.flatMap((one, index) => {
    if (one === 'self') return ["'self'"];
    if (typeof one === 'string' && ORIGIN.test(one) && URL.canParse(one.replace('*.', ''))) return [one];
    console.report(
      `frameAncestors[${index}]`,
      '`self`, or an origin such as `https://app.example.com`',
      describe(one),
    );
    return [];
  });
}

/** Returns the destinations with an API that the console can use: their own, or else one for the console alone. */
export function withConsoleApi(
  destinations: ResolvedDestinations | undefined,
  console: ResolvedConsole | undefined,
): ResolvedDestinations | undefined {
  if (destinations === undefined || console === undefined) return destinations;
  const api = { path: `${console.path}/destinations`, authorize: console.authorize, isForConsole: true };
  return { ...destinations, api: destinations.api ?? api };
}

/** Reports paths of the console and the API of which one would answer requests to the other. */
export function checkConsolePath(
  options: OptionReader,
  path: string | undefined,
  apiPath: string | undefined,
): void {
  if (path === undefined || apiPath === undefined) return;
  if (isWithin(path, apiPath)) {
    options.report(
      'console.path',
      `a path outside of \`${apiPath}\`, the path of \`destinations.api\``,
      describe(path),
    );
  } else if (CONSOLE_PATHS.some((own) => path + own === apiPath)) {
    const expected = `a path other than \`${apiPath}\`, which \`console\` serves`;
    options.report('destinations.api.path', expected, describe(apiPath));
  }
}
