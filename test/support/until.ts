/**
 * Resolves to what `look` finds, as soon as it finds something, for states that nothing announces. The pauses between
 * two looks grow: a state that takes seconds can wait a little longer, and a look may cost milliseconds of CPU time.
 *
 * @param interval milliseconds between the first two looks; give more if a look is costly
 * @param longest milliseconds between two looks at the end
 */
export async function until<T>(
  look: () => Promise<T | undefined> | T | undefined,
  interval = 20,
  longest = Math.max(interval, 100),
): Promise<T> {
  for (let pause = interval; ; pause = Math.min(pause * 1.2, longest)) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
