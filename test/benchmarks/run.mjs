import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// `npm run bench` runs all benchmarks, `npm run bench -- delivery` only that one. Each has a process of its own.
const folder = fileURLToPath(new URL('.', import.meta.url));
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const all = readdirSync(folder).flatMap((file) =>
  file.endsWith('.bench.mjs') ? [file.replace('.bench.mjs', '')] : [],
);
if (flags.includes('--help')) {
  process.stdout.write(`npm run bench -- [name…] runs all benchmarks or those: ${all.join(', ')}.\n`);
  process.exit();
}
const unknown = wanted.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`No benchmark is named ${unknown.join(', ')}. There are: ${all.join(', ')}.\n`);
  process.exit(1);
}
for (const name of wanted.length > 0 ? wanted : all) {
  const { status } = spawnSync(process.execPath, ['--expose-gc', `${folder}${name}.bench.mjs`, ...flags], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
