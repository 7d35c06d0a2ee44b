/** A request as `curl` is to make it. */
export interface CurlRequest {
  url: string;
  /** Name and value each. */
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
}

/** Headers that curl writes by itself, exactly as we do. */
const OWN_HEADERS = new Set(['host', 'content-length']);

/** Headers that curl would add of its own accord. */
const UNWANTED_HEADERS = ['Accept:', 'Expect:'];

/** A line for a POSIX shell that makes the same request with `curl`, and shows the response with its head. */
export function curlCommand({ url, headers, body }: CurlRequest): string {
  const own = headers.filter(([name]) => !OWN_HEADERS.has(name));
  const words = [
    // The URL is meant literally, brackets and braces included.
    ...['curl', '--include', '--http1.1', '--globoff', '--request', 'POST'],
    ...[...own.map(headerArgument), ...UNWANTED_HEADERS].flatMap((header) => ['--header', header]),
    ...['--data-binary', body.toString('utf8')],
    url,
  ];
  return words.map(quote).join(' ');
}

/** For curl, a name with a colon and nothing after it removes the header, and with a semicolon sends it empty. */
function headerArgument([name, value]: readonly [string, string]): string {
  return value === '' ? `${name};` : `${name}: ${value}`;
}

/** In single quotes nothing is special to the shell, save the single quote itself. */
function quote(word: string): string {
  return /^[\w.:/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
