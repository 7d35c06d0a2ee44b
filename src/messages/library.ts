import { readFileSync } from 'node:fs';

interface Manifest {
  name: string;
  version: string;
}

function isManifest(value: unknown): value is Manifest {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'version' in value &&
    typeof value.version === 'string'
  );
}

function readManifest(): Manifest {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  if (!isManifest(manifest)) throw new Error('The package.json of nestjs-analytics has no name or version');
  return { name: manifest.name, version: manifest.version };
}

/** Name and version of this package, as they stand in every message's `context.library`. */
export const LIBRARY: Readonly<Manifest> = readManifest();
