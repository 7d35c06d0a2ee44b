import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';

const SRC = new URL('../../src/', import.meta.url);
const PAGE = new URL('../../docs/errors.md', import.meta.url);
const PARTS = ['- **What happened**: ', '- **Why**: ', '- **What to do**: '];

async function sources(folder: string, name: RegExp): Promise<string[]> {
  const files = (await readdir(new URL(folder, SRC))).filter((file) => name.test(file));
  return Promise.all(files.map((file) => readFile(new URL(folder + file, SRC), 'utf8')));
}

function codesIn(texts: string[], pattern: RegExp): string[] {
  return texts.flatMap((text) => Array.from(text.matchAll(pattern), ([, code = '']) => code));
}

/** The code of each error class. The types ensure that the union has all of them. */
async function codesOfErrors(): Promise<string[]> {
  return codesIn(await sources('errors/', /\.errors\.ts$/), /readonly code = '([A-Z_]+)'/g);
}

/** The codes of requests without a response. */
async function codesOfRequests(): Promise<string[]> {
  return codesIn(await sources('webhooks/http/', /^webhook-error-code\.ts$/), /\| '([A-Z_]+)'/g);
}

/** The codes with which the HTTP APIs refuse a request. */
async function codesOfAnswers(): Promise<string[]> {
  const folders = await Promise.all(
    ['http/', 'ingest/http/', 'destinations-api/', 'destinations-api/links/'].map((folder) =>
      sources(folder, /\.ts$/),
    ),
  );
  return codesIn(folders.flat(), /(?:RequestRefusal\(\s*\d+,\s*|super\(\s*\d+,\s*|code: )'([A-Z_]+)'/g);
}

/** The codes that a custom destination's code may cause. */
async function codesOfCode(): Promise<string[]> {
  const texts = await sources('custom-destinations/', /^message-answers\.ts$/);
  return codesIn(texts, /const (?:DELIVERY_ERROR|INVALID_RESULT) = '([A-Z_]+)'/g);
}

/** Resolves to the section of the page under the heading of each code. */
async function entries(): Promise<Map<string, string>> {
  const sections = (await readFile(PAGE, 'utf8')).split(/^### /m).slice(1);
  return new Map(sections.map((section) => [section.slice(0, section.indexOf('\n')), section]));
}

describe('error codes', () => {
  it('belong to one error class each', async () => {
    const all = await codesOfErrors();
    expect(all.length).toBeGreaterThan(20);
    expect(new Set(all).size).toBe(all.length);
  });

  it.each([
    ['of error classes', codesOfErrors],
    ['of requests', codesOfRequests],
    ['of the HTTP APIs', codesOfAnswers],
    ['of custom destinations', codesOfCode],
  ])('%s have an entry each, with what happened, why, and what to do', async (_, codesOf) => {
    const codes = new Set(await codesOf());
    expect(codes.size).toBeGreaterThan(1);
    const page = await entries();
    const missing = Array.from(codes).filter(
      (code) => !PARTS.every((part) => page.get(code)?.includes(part) === true),
    );
    expect(missing).toEqual([]);
  });

  it('are the only codes that the page has entries for', async () => {
    const codes = new Set([
      ...(await codesOfErrors()),
      ...(await codesOfRequests()),
      ...(await codesOfAnswers()),
      // Marks in the queue that all messages of a job failed.
      'DELIVERY_FAILED',
      // Codes of custom destinations.
      ...(await codesOfCode()),
    ]);
    const others = Array.from((await entries()).keys()).filter((code) => !codes.has(code));
    expect(others).toEqual([]);
  });
});
