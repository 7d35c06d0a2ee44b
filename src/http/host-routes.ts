/** A route of the host application, as its framework knows it. */
export interface HostRoute {
  /** In upper case; `ALL` for every method. */
  method: string;
  /** With parameters as `:name`. */
  path: string;
}

/** Routes that something else answers in place of the host application. */
export interface OwnRoutes {
  /** Name of what answers these routes, as the beginning of a sentence. */
  name: string;
  /** In upper case; `ALL` for every method. */
  method: string;
  paths: readonly string[];
  /** Whether everything below the paths is answered as well. */
  isTree: boolean;
  /** Example of the option that moves these routes to another path. */
  option: string;
}

/**
 * Finds the host's routes that are never reached, because something else answers their requests first. A
 * catch-all such as `/*path` is not reported: it handles only requests that nothing else answers.
 *
 * @returns one sentence per route, which says what to do about it
 */
export function hiddenRoutes(
  routes: readonly HostRoute[],
  { name, method: ownMethod, paths, isTree, option }: OwnRoutes,
): string[] {
  return routes.flatMap(({ method, path }) => {
    if (method !== ownMethod && method !== 'ALL' && ownMethod !== 'ALL') return [];
    const hidden = paths.filter((own) => matches(path, own, isTree));
    if (hidden.length === 0) return [];
    const answered = `${ownMethod === 'ALL' ? '' : `${ownMethod} `}${hidden.join(', ')}`;
    return [
      `${name} answers ${answered}, so this application's own route ${method} ${path} ` +
        `and its guards are never reached there. Move that route, or give ${lowerFirst(name)} a path of its ` +
        `own: \`${option}\`.`,
    ];
  });
}

function matches(pattern: string, path: string, isTree: boolean): boolean {
  if (pattern.includes('*')) return false;
  // Express writes optional parts in braces.
  const expected = segmentsOf(pattern.replace(/\{[^}]*\}/g, ''));
  const given = segmentsOf(path);
  return (
    (isTree ? expected.length >= given.length : expected.length === given.length) &&
    given.every((segment, index) => isSegment(expected[index] ?? '', segment))
  );
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

/** Express compares paths case-insensitively. */
function isSegment(expected: string, given: string): boolean {
  return expected.startsWith(':') || expected.toLowerCase() === given.toLowerCase();
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
