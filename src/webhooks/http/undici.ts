/**
 * The two parts of undici that are needed, from their own files: the whole package, with `fetch`, caches and
 * WebSockets, takes five times as long to load. The version is pinned, since these files are not part of undici's API.
 */
export { default as errors } from 'undici/lib/core/errors.js';
export { default as Client } from 'undici/lib/dispatcher/client.js';
