import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from './command.mjs';

/** Other versions of Node and TypeScript, from the registry. */
export class Tools {
  constructor(folder) {
    this.folder = folder;
    this.installed = new Map();
  }

  /** Resolves to the path of the newest Node of a version such as `22`. */
  async node(version) {
    // Each of these packages contains Node for one platform.
    const name = `node-${process.platform}-${process.arch}`;
    const program = join(await this.package(name, version), 'bin/node');
    const printed = await command([program, '--version'], { cwd: this.folder });
    if (!printed.startsWith(`v${version}.`)) throw new Error(`Node ${version} calls itself ${printed}`);
    return program;
  }

  /** Resolves to the path of the compiler of a TypeScript version. */
  async typescript(version) {
    return join(await this.package('typescript', version), 'bin/tsc');
  }

  /** Resolves to the path of pnpm. */
  async pnpm() {
    return join(await this.package('pnpm', '10'), 'bin/pnpm.cjs');
  }

  /** Resolves to the folder of a package. Each package is installed once. */
  package(name, version) {
    const id = `${name}@${version}`;
    const folder = this.installed.get(id) ?? this.install(name, version);
    this.installed.set(id, folder);
    return folder;
  }

  async install(name, version) {
    const cwd = join(this.folder, `${name}-${version}`);
    await mkdir(cwd);
    await command(['npm', 'install', '--prefix', cwd, '--no-audit', '--no-fund', `${name}@${version}`], {
      cwd,
    });
    return join(cwd, 'node_modules', name);
  }
}
