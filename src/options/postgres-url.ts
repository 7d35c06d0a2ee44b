/** What is said of a URL that cannot be read. It is not shown: it may hold a password. */
export const UNREADABLE_POSTGRES_URL =
  'a `postgres://` URL that cannot be read: write its user and password as `encodeURIComponent` does, and one host and port';

/** Whether a text says that it is the URL of a PostgreSQL. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text);
}

/** Whether `pg` can read a URL, which it does only when it connects. It may name no host, as for a socket. */
export function isReadablePostgresUrl(url: string): boolean {
  return URL.canParse(url) || URL.canParse(url.replace('@/', '@localhost/'));
}
