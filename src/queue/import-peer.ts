import { MissingPackageError } from '../errors/missing-package.error.js';

/** Loads an optional peer dependency, or says by name what is to be installed. */
export async function importPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw MissingPackageError.explain(name, error);
  }
}
