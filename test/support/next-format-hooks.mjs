/**
 * Turns the sources that a child process runs into a build whose jobs have the next format: the format's number is one
 * higher, batches have another key, and the present format is read as the previous one. Import these hooks after the
 * hooks for TypeScript.
 */
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transform } from '@swc/core';

const SOURCES = new URL('../../src/', import.meta.url).href;

/** By file, patterns and their replacements. */
const CHANGES = {
  'queue/batch-job.ts': [[/BATCH_JOB_VERSION = (\d+)/, (_, v) => `BATCH_JOB_VERSION = ${Number(v) + 1}`]],
  'queue/stored-data.ts': [[/bodies === undefined \? UNSHARED_BODIES_VERSION : data\.v/, () => 'data.v']],
  'queue/read-job.ts': [
    // A job whose messages share no body is written in the format before that.
    [/v === PREVIOUS_VERSION/, () => '(v === PREVIOUS_VERSION || v === PREVIOUS_VERSION - 1)'],
    [/PREVIOUS_VERSION = (\d+)/, (_, v) => `PREVIOUS_VERSION = ${Number(v) + 1}`],
    [
      /function fromPreviousVersion\([^]*?\n}/,
      () =>
        'function fromPreviousVersion({ batches, ...others }) ' +
        '{ return { ...others, v: BATCH_JOB_VERSION, parcels: batches }; }',
    ],
  ],
};

if (isMainThread) register(import.meta.url);

export async function load(url, context, next) {
  if (!url.startsWith(SOURCES) || !url.endsWith('.ts')) return next(url, context);
  const text = await readFile(new URL(url), 'utf8');
  // The key first: the code that reads the previous format still needs the old key.
  const renamed = text.replaceAll(/\bbatches\b(?![\w-]*\.js)/g, 'parcels');
  const changed = (CHANGES[url.slice(SOURCES.length)] ?? []).reduce(replace, renamed);
  const { code } = await transform(changed, { filename: fileURLToPath(url) });
  return { format: 'module', source: code, shortCircuit: true };
}

function replace(text, [pattern, replacement]) {
  if (!pattern.test(text)) throw new Error(`The sources have nothing like ${pattern}`);
  return text.replace(pattern, replacement);
}
