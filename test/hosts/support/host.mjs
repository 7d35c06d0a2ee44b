import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { command, Program } from './command.mjs';
import { Receiver } from './receiver.mjs';
import { copyTestingPage } from './testing-page.mjs';

const HOSTS = join(import.meta.dirname, '..');
const PACKAGE = join(HOSTS, '../..');
const NPM_INSTALL = ['npm', 'install', '--no-audit', '--no-fund', '--prefer-offline'];
/** What npm prints about peers that do not fit. */
const PEER_COMPLAINT = /ERESOLVE|peer dep|conflicting peer|unmet/i;
/** What Nest and Node print if something is wrong. */
const COMPLAINT = /\b(WARN|ERROR|Warning)\b/;
/** Milliseconds to wait for an application. A machine that builds other things as well takes its time. */
const PATIENCE = 120_000;

/** Packs the built package as it would be published, and resolves to the path of the tarball. */
export async function packPackage(folder) {
  const argv = [
    'npm',
    'pack',
    '--json',
    '--ignore-scripts',
    '--loglevel=error',
    '--pack-destination',
    folder,
  ];
  const printed = await command(argv, { cwd: PACKAGE });
  return join(folder, /"filename":\s*"([^"]+)"/.exec(printed)[1]);
}

/** Resolves to the packages of the README's install line, with the tarball in place of this package. */
async function packagesToInstall(tarball, { queue, hasIoredis }) {
  const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
  const [, line] = /^npm install (nestjs-analytics .*)$/m.exec(readme);
  const packages = line.replace('nestjs-analytics', tarball).split(' ');
  if (queue !== 'redis') return packages;
  return hasIoredis ? [tarball] : packages.map((name) => name.replace('@electric-sql/pglite', 'ioredis'));
}

/** An application that uses the package, in a folder of its own outside this repository. */
export class Host {
  /** @param tools other versions of Node and TypeScript; without them, only the current versions are proved */
  constructor(definition, { tarball, redisUrl, tools }) {
    this.definition = definition;
    this.tarball = tarball;
    this.env = definition.queue === 'redis' ? { QUEUE_URL: redisUrl } : {};
    this.tools = tools;
  }

  /** Runs everything that a host has to pass, and calls `step` with the name of each part before it. */
  async prove(step) {
    this.folder = await mkdtemp(join(tmpdir(), `host-${this.definition.name}-`));
    try {
      await this.copyFiles();
      step('install');
      await this.install();
      step('build');
      await command(['npm', 'run', '--silent', 'build'], { cwd: this.folder });
      step('start');
      await this.deliver(process.execPath);
      for (const argv of this.definition.test ?? []) {
        step(argv.at(-1));
        await command(argv, { cwd: this.folder, env: { ...this.env, NODE_ENV: 'test' } });
      }
      if (this.tools) await this.proveVersions(step);
    } finally {
      await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  async proveVersions(step) {
    const { nodes = [], typescripts = [] } = this.definition;
    for (const version of nodes) {
      step(`start on Node ${version}`);
      await this.deliver(await this.tools.node(version));
    }
    for (const version of typescripts) {
      step(`types for TypeScript ${version}`);
      const compiler = await this.tools.typescript(version);
      await command([process.execPath, compiler, '-p', 'tsconfig.types.json'], { cwd: this.folder });
    }
  }

  /** Copies the shared application, then the files of the basis, then the host's own files over it. */
  async copyFiles() {
    const { basis, name, isEsm, testingPage } = this.definition;
    const layers = ['app', ...[basis, name].filter(Boolean).map((kind) => join('kinds', kind))];
    for (const layer of layers) await cp(join(HOSTS, layer), this.folder, { recursive: true });
    if (testingPage) await copyTestingPage(this.folder, testingPage);
    if (isEsm) return;
    // Jest with its default settings does not find `./x.ts` for `./x.js`.
    const entries = await readdir(this.folder, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((file) => file.name.endsWith('.ts'))) {
      const path = join(entry.parentPath, entry.name);
      const code = await readFile(path, 'utf8');
      await writeFile(path, code.replaceAll(/from '(\.[^']*)\.js'/g, "from '$1'"));
    }
  }

  async install() {
    const packages = await packagesToInstall(this.tarball, this.definition);
    for (const argv of await this.installCommands(packages)) {
      const printed = await command(argv, { cwd: this.folder });
      if (PEER_COMPLAINT.test(printed)) throw new Error(`\`${argv[0]}\` complains about peers:\n${printed}`);
    }
  }

  /** Returns commands that install the application first, and then the package. */
  async installCommands(packages) {
    if (!this.definition.isPnpm) return [NPM_INSTALL, [...NPM_INSTALL, ...packages]];
    const pnpm = [process.execPath, await this.tools.pnpm()];
    return [
      [...pnpm, 'install', '--prefer-offline'],
      [...pnpm, 'add', '--prefer-offline', ...packages],
    ];
  }

  /** Starts the application, places an order, and ends it once the order's events have arrived. */
  async deliver(node) {
    const { cwd, start } = await this.placeToStart();
    const receiver = new Receiver('teehee');
    const env = { ...this.env, PORT: '0', RECEIVER_URL: await receiver.listen() };
    const app = new Program([node, ...start], { cwd, env });
    try {
      const events = await this.placeOrder(app);
      await app.within(PATIENCE, receiver.has(events), 'did not deliver');
      if (this.definition.endsItself) await app.within(PATIENCE, app.ended, 'did not end');
      else await this.terminate(app);
      this.checkOutput(app);
    } finally {
      app.child.kill('SIGKILL');
      receiver.close();
    }
  }

  /** Returns where to start the application. A bundle of everything is started in a folder without other files. */
  async placeToStart() {
    const { start, isOneFile } = this.definition;
    if (!isOneFile) return { cwd: this.folder, start };
    const cwd = await mkdtemp(`${this.folder}-alone-`);
    const [file] = start;
    await cp(join(this.folder, 'package.json'), join(cwd, 'package.json'));
    await cp(join(this.folder, file), join(cwd, basename(file)));
    await rm(this.folder, { recursive: true });
    this.folder = cwd;
    return { cwd, start: [basename(file)] };
  }

  /** Places an order, and resolves to the events that have to arrive. */
  async placeOrder(app) {
    if (this.definition.endsItself) return ['Order Completed'];
    const [, url] = await app.printed(/is open on (http\S+)/, PATIENCE);
    const origin = url.replace('[::1]', 'localhost');
    const answer = await fetch(`${origin}/orders/u1`, { method: 'POST' });
    if (answer.status !== 201) throw app.failure(`answered ${answer.status} ${await answer.text()}`);
    const script = await fetch(`${origin}/analytics/page.js`);
    if (script.status !== 200) throw app.failure(`answered ${script.status} instead of the console's page`);
    return ['Order Requested', 'Order Completed'];
  }

  async terminate(app) {
    const result = await app.end('SIGTERM', PATIENCE);
    if (result !== 'SIGTERM' && result !== 0) throw app.failure(`ended with ${result} after SIGTERM`);
  }

  checkOutput(app) {
    if (COMPLAINT.test(app.output)) throw app.failure('is not content');
    const missing = (this.definition.prints ?? []).find((pattern) => !pattern.test(app.output));
    if (missing) throw app.failure(`did not print ${missing}`);
  }
}
