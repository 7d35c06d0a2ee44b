/**
 * Resolves to what `look` finds, as soon as it finds something: for states that announce themselves to nobody.
 *
 * @param interval milliseconds between two looks: longer where a look is costly, and what it waits for takes seconds
 */
export async function until<T>(
  look: () => Promise<T | undefined> | T | undefined,
  interval = 20,
): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}
