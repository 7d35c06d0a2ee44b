/** Yields the items in their order, in chunks of at most `size`. */
export function* chunksOf<T>(items: readonly T[], size: number): Generator<T[], void> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Returns the first items, at most `size`. The items after them are not copied. */
export function firstChunkOf<T>(items: Iterable<T>, size: number): T[] {
  const first: T[] = [];
  for (const item of items) if (first.push(item) >= size) break;
  return first;
}
