/**
 * What is behind the `#` of the link to which the shown entry of the history belongs; empty in a tab that was given
 * none. It is taken out of the address, where others could read it, and kept in the entry: so Back leads to what was
 * shown there, even where the tab was given a link of another customer since then.
 *
 * @param shown what an entry gets that is new
 */
export function takeLink(shown = ''): string {
  const { hash, pathname } = location;
  const link = holdsLink() ? hash.slice(1) : (keptIn(history.state) ?? shown);
  history.replaceState({ link }, '', holdsLink() ? `${pathname.replace(/^\/+/, '/')}#/` : undefined);
  return link;
}

/** Whether the address is that of a link, and not of a page. */
export function holdsLink(): boolean {
  const { hash } = location;
  return hash !== '' && !hash.startsWith('#/');
}

/** Whose destinations a link shows, which the application checks; `undefined` for a text that is no link. */
export function tenantIn(link: string): string | undefined {
  try {
    const claims = (link.split('.')[0] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(claims), (character) => character.charCodeAt(0));
    const [tenant] = JSON.parse(new TextDecoder().decode(bytes)) as unknown[];
    return typeof tenant === 'string' ? tenant : undefined;
  } catch {
    return undefined;
  }
}

/** @param state of an entry */
function keptIn(state: unknown): string | undefined {
  if (typeof state !== 'object' || state === null || !('link' in state)) return undefined;
  return typeof state.link === 'string' ? state.link : undefined;
}
