/** Makes `fs-native-extensions` fail to load, as on a platform without a build of it. Import this first. */
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

export function resolve(specifier, context, next) {
  if (specifier === 'fs-native-extensions') throw new Error('Cannot find addon');
  return next(specifier, context);
}
