const KEY = 'nestjs-analytics:link';

/**
 * What is behind the `#` of a link. It is taken out of the address, where others could read it, and kept for
 * as long as the tab is open; empty in a tab that was given none.
 */
export function takeLink(): string {
  const { hash, pathname } = location;
  if (!holdsLink()) return stored() ?? '';
  const token = hash.slice(1);
  history.replaceState(null, '', `${pathname}#/`);
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // A browser may forbid storage in a frame: the page works until it is loaded again.
  }
  return token;
}

/** Whether the address is that of a link, and not of a page. */
export function holdsLink(): boolean {
  const { hash } = location;
  return hash !== '' && !hash.startsWith('#/');
}

function stored(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}
