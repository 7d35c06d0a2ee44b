/** Does without `fs-native-extensions`, as on a platform that it has no build for, and says what works. */
import { register } from 'node:module';

const HOOK = `export async function resolve(specifier, context, next) {
  if (specifier === 'fs-native-extensions') throw new Error('Cannot find addon');
  return next(specifier, context);
}`;
register(`data:text/javascript,${encodeURIComponent(HOOK)}`);

const [dataDir = ''] = process.argv.slice(2);
const { AnalyticsError } = await import('../../../../src/index.js');
console.log('imported');
const { openEmbeddedDatabase } = await import('../../../../src/queue/embedded/embedded-database.js');
await openEmbeddedDatabase({ dataDir }).catch((error: unknown) => {
  if (error instanceof AnalyticsError) console.log(`${error.code} ${error.message}`);
});
