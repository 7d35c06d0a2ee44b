/** The items in their order, some at a time. */
export function* chunksOf<T>(items: readonly T[], size: number): Generator<T[], void> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
