/**
 * Returns the token of the link to which the current history entry belongs, or an empty text in a tab without a link.
 * The token is what is behind the `#`. Takes it out of the address, where others could read it, and keeps it in the
 * entry. So Back leads to what was shown there, even if the tab was given the link of another customer since then.
 *
 * @param shown the token that a new entry gets
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

/** Returns the tenant of a link, or `undefined` for a text that is no link. Only the application verifies the link. */
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

/** @param state state of a history entry */
function keptIn(state: unknown): string | undefined {
  if (typeof state !== 'object' || state === null || !('link' in state)) return undefined;
  return typeof state.link === 'string' ? state.link : undefined;
}
