/** Matches only ids in the shop's format, since a client can send any cookie. */
const COOKIE = /(?:^|; )visitor=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:;|$)/;

/** Returns the visitor id in a `Cookie` header. */
export function readVisitorCookie(header = ''): string | undefined {
  return COOKIE.exec(header)?.[1];
}

/** Returns the `Set-Cookie` header that makes a browser keep its visitor id. */
export function visitorCookie(visitorId: string): string {
  return `visitor=${visitorId}; Path=/; HttpOnly; SameSite=Lax`;
}
