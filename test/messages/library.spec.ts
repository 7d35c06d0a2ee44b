import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { LIBRARY } from '../../src/messages/library.js';

describe('the library that messages name', () => {
  it('is this package, in the version that is published', async () => {
    const manifest: unknown = JSON.parse(
      await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
    );
    expect(manifest).toMatchObject(LIBRARY);
  });
});
