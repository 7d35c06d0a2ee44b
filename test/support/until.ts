/**
 * Resolves to what `look` finds, as soon as it finds something: for states that announce themselves to nobody. It looks
 * more rarely from time to time, since what takes seconds can wait a little longer, and a look may cost a core's
 * milliseconds.
 *
 * @param interval milliseconds between the first two looks: longer where a look is costly
 * @param longest milliseconds between two looks in the end
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
