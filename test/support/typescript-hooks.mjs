/**
 * Lets a child process of a test run the TypeScript sources as they are:
 * `node --import ./test/support/typescript-hooks.mjs some-script.ts`.
 */
import { existsSync } from 'node:fs';
import { register } from 'node:module';
import { fileURLToPath, URL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transformFile } from '@swc/core';

if (isMainThread) register(import.meta.url);

export async function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && context.parentURL?.endsWith('.ts')) {
    const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    if (existsSync(source)) return { url: source.href, shortCircuit: true };
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const { code } = await transformFile(fileURLToPath(url));
  return { format: 'module', source: code, shortCircuit: true };
}
