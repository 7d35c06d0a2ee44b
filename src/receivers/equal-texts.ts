import { timingSafeEqual } from 'node:crypto';

/** Whether a text is the expected one, in a time that does not tell how much of it is. */
export function equalTexts(given: string, expected: string): boolean {
  const [givenBytes, expectedBytes] = [Buffer.from(given), Buffer.from(expected)];
  return givenBytes.length === expectedBytes.length && timingSafeEqual(givenBytes, expectedBytes);
}
