/** The items in their order, some at a time. */
export function* chunksOf<T>(items: readonly T[], size: number): Generator<T[], void> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** The first items, as many as a chunk may have. However many follow, they are not copied. */
export function firstChunkOf<T>(items: Iterable<T>, size: number): T[] {
  const first: T[] = [];
  for (const item of items) if (first.push(item) >= size) break;
  return first;
}
