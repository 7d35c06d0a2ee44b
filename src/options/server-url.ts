/** Error text for a URL that cannot be read. The URL is not shown: it may hold a password. */
export const UNREADABLE_POSTGRES_URL =
  'a `postgres://` URL that cannot be read: encode its user and password with `encodeURIComponent`, and give one host and port';

/** Whether a text begins like the URL of a PostgreSQL database. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text);
}

/**
 * Whether `pg` can read a URL, which it does only when it connects. The URL may name no host, as for a socket. If it
 * has a space, or a `%` that encodes nothing, `pg` encodes the whole URL first, which fails for a lone surrogate.
 */
export function isReadablePostgresUrl(url: string): boolean {
  if (!url.isWellFormed()) return false;
  const encoded = / |%(?![\da-f]{2})/i.test(url) ? encodeURI(url).replace(/%25(\d\d)/g, '%$1') : url;
  return [encoded, encoded.replace('@/', '@localhost/')].some(isReadableUrl);
}

/**
 * Whether a URL can be parsed and its parts decoded. If a password has a `#`, `?` or `/` that is not encoded, its start
 * can look like a port. The `@` then comes later in the URL.
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
