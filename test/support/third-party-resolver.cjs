const { existsSync, renameSync, writeFileSync } = require('node:fs');
const { builtinModules } = require('node:module');
const { join } = require('node:path');
const process = require('node:process');

/**
 * Loaded anew for each spec: the sources and tests of this project, what Jest makes for a spec, and PGlite, whose files are
 * looked for beside it.
 */
const OF_A_SPEC = /^(?:[./#]|node:|nestjs-analytics(?:\/|$)|@jest\/globals$|@electric-sql\/)/;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const REQUIRE = "globalThis[Symbol.for('nestjs-analytics.tests.require')]";

/**
 * Resolves a package to a file that takes it from the process, where Node loads it once for all specs. Jest would load it
 * for each spec, which takes longer than most specs.
 */
module.exports = function resolve(path, options) {
  const folder = process.env.TEST_ORIGINALS;
  // Jest itself resolves, too: before the folder is made, and for what it loads into a spec.
  const isOfJest = folder === undefined || options.basedir.includes('node_modules');
  if (isOfJest || OF_A_SPEC.test(path) || builtinModules.includes(path))
    return options.defaultResolver(path, options);
  const isImport = options.conditions?.includes('import') === true;
  const file = join(folder, `${encodeURIComponent(path)}.${isImport ? 'mjs' : 'cjs'}`);
  if (!existsSync(file)) {
    // Other workers may do the same, and must not find half of it.
    const unfinished = `${file}.${process.pid}`;
    writeFileSync(unfinished, isImport ? moduleOf(path) : `module.exports = ${REQUIRE}('${path}');`);
    renameSync(unfinished, file);
  }
  return file;
};

function moduleOf(path) {
  const exported = require(path);
  const isModule = exported?.[Symbol.toStringTag] === 'Module';
  const names = Object.keys(exported).filter((name) => IDENTIFIER.test(name) && name !== 'default');
  return [
    `const exported = ${REQUIRE}('${path}');`,
    `export default ${isModule ? 'exported.default' : 'exported'};`,
    ...names.map((name) => `const _${name} = exported.${name};\nexport { _${name} as ${name} };`),
  ].join('\n');
}
