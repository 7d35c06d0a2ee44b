/** Runs without `fs-native-extensions`, and prints what works. */
await import(new URL('../../../support/without-add-on-hooks.mjs', import.meta.url).href);

const [dataDir = ''] = process.argv.slice(2);
const { AnalyticsError } = await import('../../../../src/index.js');
console.log('imported');
const { openEmbeddedDatabase } = await import('../../../../src/queue/embedded/embedded-database.js');
await openEmbeddedDatabase({ dataDir }).catch((error: unknown) => {
  if (error instanceof AnalyticsError) console.log(`${error.code} ${error.message}`);
});
