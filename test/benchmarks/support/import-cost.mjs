import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
const BASE = ['@nestjs/core', 'bullmq'];
const TELL = 'const { user, system } = process.cpuUsage(); console.log((user + system) / 1000);';
const FORMATS = [
  { name: 'ES modules', flags: ['--input-type=module'], load: (name) => `import '${name}';` },
  { name: 'CommonJS', flags: ['--input-type=commonjs'], load: (name) => `require('${name}');` },
];

/** Returns the milliseconds of CPU that a process of its own takes to start and to load some packages. */
function cost({ flags, load }, packages) {
  const script = packages.map(load).join('') + TELL;
  return Number(execFileSync(process.execPath, [...flags, '-e', script], { cwd: ROOT, encoding: 'utf8' }));
}

/** Measures loading this package on top of those that it needs anyway, in both formats, over some runs in turn. */
export function importCosts(runs) {
  const rows = FORMATS.map(({ name }) => ({ name, base: [], whole: [], ratio: [] }));
  for (let run = -1; run < runs; run++) {
    for (const [index, format] of FORMATS.entries()) {
      const base = cost(format, BASE);
      const whole = cost(format, [...BASE, 'nestjs-analytics']);
      // The first round only reads the files from the disk.
      if (run < 0) continue;
      rows[index].base.push(base);
      rows[index].whole.push(whole);
      rows[index].ratio.push(whole / base);
    }
  }
  return rows;
}
