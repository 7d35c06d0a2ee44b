import { describe, expect, it } from '@jest/globals';
import { batchBytes, MAX_BATCH_BYTES, MAX_MESSAGE_BYTES } from '../../src/messages/limits.js';

describe('the limits', () => {
  it('are 32 KB for a message and 500 KB for a batch', () => {
    expect([MAX_MESSAGE_BYTES, MAX_BATCH_BYTES]).toEqual([32_768, 512_000]);
  });

  it.each([0, 1, 2, 20])('count the bytes of a batch of %d with its envelope and commas', (count) => {
    const bodies = Array.from({ length: count }, (_, index) => JSON.stringify({ name: `Zoë 🚀 ${index}` }));
    const bodyBytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
    expect(batchBytes(bodyBytes, count)).toBe(Buffer.byteLength(`{"batch":[${bodies.join(',')}]}`));
  });
});
