/** What is said of a URL that cannot be read. It is not shown: it may hold a password. */
export const UNREADABLE_POSTGRES_URL =
  'a `postgres://` URL that cannot be read: write its user and password as `encodeURIComponent` does, and one host and port';

/** Whether a text says that it is the URL of a PostgreSQL. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text);
}

/**
 * Whether `pg` can read a URL, which it does only when it connects. It may name no host, as for a socket. If it has a
 * space, or a `%` that encodes nothing, `pg` encodes the whole of it first, which takes no lone surrogate.
 */
export function isReadablePostgresUrl(url: string): boolean {
  if (!url.isWellFormed()) return false;
  const encoded = / |%(?![\da-f]{2})/i.test(url) ? encodeURI(url).replace(/%25(\d\d)/g, '%$1') : url;
  return [encoded, encoded.replace('@/', '@localhost/')].some(isReadableUrl);
}

/**
 * Whether a URL can be parsed, and its parts decoded. A password with a `#`, `?` or `/` that is not encoded can look like
 * a port with something after it, and an `@` comes later then.
 */
export function isReadableUrl(url: string): boolean {
  if (!url.isWellFormed() || !URL.canParse(url)) return false;
  const { username, password, hostname, port, pathname, search, hash } = new URL(url);
  const rest = (port === '' ? '' : pathname) + (/^\?[^=&]*@/.exec(search)?.[0] ?? '') + hash;
  const isCut = username === '' && rest.includes('@');
  return !isCut && !hostname.includes(',') && [username, password, hostname, pathname].every(canBeDecoded);
}

function canBeDecoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
