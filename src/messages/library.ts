/**
 * Name and version of this package, as in every message's `context.library`. They stand here, since a bundle
 * has no `package.json` to read them from.
 */
export const LIBRARY: Readonly<{ name: string; version: string }> = {
  name: 'nestjs-analytics',
  version: '0.2.0',
};
