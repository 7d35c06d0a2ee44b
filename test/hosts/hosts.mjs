/** Returns `npm run <script>` for each script, as the developer of the application would type it. */
const npmRun = (...scripts) => scripts.map((script) => ['npm', 'run', '--silent', script]);

/**
 * The applications in which this package has to work. Each consists of the shared application in `app/`, then the files
 * of its `basis`, then its own files from `kinds/`, each layer over the one before. `testingPage`: its tests are those
 * that the page on testing shows.
 */
export const HOSTS = [
  {
    name: 'nest-11-express',
    title: 'Nest 11, CommonJS, Express, as `nest new` makes it; Jest with ts-jest',
    isQuick: true,
    start: ['dist/main'],
    test: npmRun('test', 'test:e2e'),
    testingPage: {},
    nodes: ['20.19', '22', '24'],
    typescripts: ['5.7', '5.8', '5.9', '6.0', '7.0'],
  },
  {
    name: 'nest-11-fastify',
    title: 'Nest 11, CommonJS, Fastify, built by SWC; Jest with @swc/jest',
    basis: 'nest-11-express',
    start: ['dist/main'],
    test: npmRun('test', 'test:e2e'),
    // The application of that page uses Nest's default adapter, Express.
    testingPage: { without: ['orders.e2e-spec.ts', 'receiver.e2e-spec.ts'] },
  },
  {
    name: 'nest-11-esm',
    title: 'Nest 11, ES modules (nodenext); vitest',
    basis: 'nest-12-express',
    isEsm: true,
    start: ['dist/main.js'],
    test: npmRun('test', 'test:e2e'),
    testingPage: { isVitest: true },
  },
  {
    name: 'nest-12-express',
    title: 'Nest 12, ES modules, Express, as `nest new` makes it; vitest',
    isQuick: true,
    isEsm: true,
    start: ['dist/main.js'],
    test: npmRun('test', 'test:e2e'),
    testingPage: { isVitest: true },
    nodes: ['20.19', '22', '24'],
    typescripts: ['5.7', '5.8', '5.9', '6.0', '7.0'],
  },
  {
    name: 'nest-12-commonjs',
    title: 'Nest 12, CommonJS output; vitest',
    start: ['dist/main'],
    test: npmRun('test', 'test:e2e'),
    testingPage: { isVitest: true },
  },
  {
    name: 'nest-11-webpack',
    title: 'Nest 11, webpack, everything in one file, on Redis',
    basis: 'nest-11-express',
    queue: 'redis',
    isOneFile: true,
    start: ['dist/main.js'],
  },
  {
    name: 'nest-12-rspack',
    title: 'Nest 12, rspack, everything in one file, on Redis',
    basis: 'nest-12-express',
    isEsm: true,
    queue: 'redis',
    isOneFile: true,
    start: ['dist/main.js'],
  },
  {
    name: 'esbuild',
    title: 'Nest 11, esbuild, everything in one file, on Redis',
    basis: 'nest-11-express',
    queue: 'redis',
    isOneFile: true,
    start: ['bundle/main.js'],
  },
  {
    name: 'standalone',
    title: 'Nest 11, a script with an application context',
    basis: 'nest-11-express',
    start: ['dist/main'],
    endsItself: true,
  },
  {
    name: 'pnpm',
    title: 'Nest 11, installed by pnpm, which refuses peers that do not fit',
    basis: 'nest-11-express',
    start: ['dist/main'],
    isPnpm: true,
  },
  {
    name: 'hybrid-tcp',
    title: 'Nest 11, HTTP and a TCP microservice',
    basis: 'nest-11-express',
    start: ['dist/main'],
  },
  {
    name: 'nest-11-bullmq-5',
    title: 'Nest 11 with queues of its own on BullMQ 5, a dashboard, and one Redis for all',
    basis: 'nest-11-express',
    queue: 'redis',
    hasIoredis: true,
    start: ['dist/main'],
    prints: [/"name":"mails"/, /"name":"analytics"/],
  },
];
