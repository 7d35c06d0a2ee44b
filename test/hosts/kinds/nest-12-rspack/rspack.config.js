import { isBuiltin } from 'node:module';

/** What Nest and nestjs-analytics import where it is installed. */
const OPTIONAL = [
  '@electric-sql/pglite',
  '@nestjs/microservices/microservices-module.js',
  '@nestjs/websockets/socket-module.js',
  '@opentelemetry/api',
  'pg',
];

/** Node's own modules, as CommonJS packages in the bundle expect them. */
const builtin = ({ request }, callback) =>
  isBuiltin(request ?? '') || request === 'node:sqlite'
    ? callback(null, `node-commonjs ${request}`)
    : callback();

/** Everything but Node's own modules goes into the one file. */
export default (options) => ({
  ...options,
  externals: [builtin],
  module: { ...options.module, parser: { javascript: { dynamicImportMode: 'eager' } } },
  resolve: { ...options.resolve, alias: Object.fromEntries(OPTIONAL.map((name) => [name, false])) },
});
