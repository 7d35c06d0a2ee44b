/** Has `fs-native-extensions` fail to load, as on a platform that it has no build for. Imported first. */
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

export function resolve(specifier, context, next) {
  if (specifier === 'fs-native-extensions') throw new Error('Cannot find addon');
  return next(specifier, context);
}
