/** A cookie is whatever a client sends: only what looks like an id of ours is one. */
const COOKIE = /(?:^|; )visitor=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:;|$)/;

/** The visitor id in a `Cookie` header. */
export function readVisitorCookie(header = ''): string | undefined {
  return COOKIE.exec(header)?.[1];
}

/** The `Set-Cookie` that makes a browser keep its visitor id. */
export function visitorCookie(visitorId: string): string {
  return `visitor=${visitorId}; Path=/; HttpOnly; SameSite=Lax`;
}
