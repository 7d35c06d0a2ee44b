import { storable } from '../shared/excerpt.js';
import type { QueuedBatch, UrlOutcome } from './batch-job.js';

/** Maximum size of all excerpts of a job together, in bytes of JSON. */
const MAX_BYTES = 256 * 1024;
/** Maximum size of one character, in bytes of JSON. */
const MAX_ESCAPED = 6;

/**
 * Shortens the excerpts of a job to equal shares if they are too long together. A customer's receiver answers what it
 * likes: a thousand excerpts of quotation marks would be four times as large as the messages.
 */
export function withShortExcerpts(batches: QueuedBatch[]): QueuedBatch[] {
  const excerpts = excerptsIn(batches);
  if (sumOf(excerpts, ({ length }) => length) * MAX_ESCAPED <= MAX_BYTES) return batches;
  if (sumOf(excerpts, bytesOf) <= MAX_BYTES) return batches;
  const share = Math.floor(MAX_BYTES / excerpts.length);
  return batches.map((batch) => ({
    ...batch,
    messages: batch.messages.map((message) => ({
      ...message,
      outcomes: message.outcomes.map((outcome) => withExcerptOf(share, outcome)),
    })),
  }));
}

function excerptsIn(batches: readonly QueuedBatch[]): string[] {
  const excerpts: string[] = [];
  for (const { messages } of batches) {
    for (const { outcomes } of messages) {
      for (const { excerpt } of outcomes) if (excerpt !== undefined) excerpts.push(excerpt);
    }
  }
  return excerpts;
}

function sumOf(texts: readonly string[], size: (text: string) => number): number {
  return texts.reduce((sum, text) => sum + size(text), 0);
}

function withExcerptOf(bytes: number, outcome: UrlOutcome): UrlOutcome {
  const { excerpt } = outcome;
  return excerpt === undefined ? outcome : { ...outcome, excerpt: shortened(excerpt, bytes) };
}

/** Returns the beginning of a text that fits into so many bytes of JSON, or somewhat less. */
function shortened(text: string, bytes: number): string {
  let beginning = text;
  for (let size = bytesOf(beginning); size > bytes; size = bytesOf(beginning)) {
    const length = Math.floor((beginning.length * bytes) / size);
    // The cut may split a character, whose first half then reads as U+FFFD.
    beginning = storable(beginning.slice(0, length)).replace(/\uFFFD$/, '');
  }
  return beginning;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
