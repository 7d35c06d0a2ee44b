import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { OptionProblem } from '../errors/option-problem.js';
import { describeKind } from '../messages/value-kind.js';
import { isPublicAddress } from '../shared/private-address.js';

const MAX_URLS = 5;

/** A name that always means the local machine (RFC 6761, section 6.3). */
const LOCALHOST = /(?:^|\.)localhost\.?$/;

/**
 * Checks a destination's URLs.
 *
 * @returns one problem for each broken rule; empty when the URLs may be called
 */
export function urlProblems(
  urls: readonly unknown[],
  { allowPrivateNetwork }: { allowPrivateNetwork: boolean },
): OptionProblem[] {
  const problems: OptionProblem[] = [];
  if (urls.length === 0 || urls.length > MAX_URLS) {
    problems.push({ path: 'urls', expected: `1 to ${MAX_URLS} URLs`, given: `${urls.length}` });
  }
  const seen = new Set<string>();
  for (const [index, value] of urls.entries()) {
    const problem = urlProblem(value, allowPrivateNetwork, seen);
    if (problem !== undefined) problems.push({ path: `urls[${index}]`, ...problem });
  }
  return problems;
}

/** Returns the host of a URL as a connection uses it: a name, or an IP address without brackets. */
function hostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

/** Returns a short, stable name of a URL, from which the URL cannot be recovered: URLs may carry secrets. */
export function hashUrl(url: URL): string {
  return createHash('sha256').update(requestedUrl(url)).digest('hex').slice(0, 16);
}

/** Returns a URL without its fragment, which is never sent. */
export function requestedUrl(url: URL): string {
  return url.origin + url.pathname + url.search;
}

function urlProblem(
  value: unknown,
  allowPrivateNetwork: boolean,
  seen: Set<string>,
): Omit<OptionProblem, 'path'> | undefined {
  if (typeof value !== 'string' && !(value instanceof URL)) {
    return { expected: 'a URL as a string', given: describeKind(value) };
  }
  if (!URL.canParse(String(value))) {
    return { expected: 'an absolute URL with http: or https:', given: 'another text' };
  }
  const url = new URL(value);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return { expected: 'a URL with the scheme http: or https:', given: 'another scheme' };
  }
  if (url.username !== '' || url.password !== '') {
    return { expected: 'a URL without a user name and password', given: 'one that has them' };
  }
  const key = requestedUrl(url);
  if (seen.has(key)) return { expected: 'each URL once', given: 'a URL that is already listed' };
  seen.add(key);
  const host = hostOf(url);
  if (allowPrivateNetwork) return undefined;
  const expected = 'a public address, unless `allowPrivateNetwork` is true';
  if (LOCALHOST.test(host)) return { expected, given: 'a name of this machine, `localhost`' };
  if (isIP(host) !== 0 && !isPublicAddress(host)) return { expected, given: 'a private or reserved address' };
  return undefined;
}
