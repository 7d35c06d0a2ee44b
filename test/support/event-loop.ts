/**
 * Runs work, and resolves to how many times a second a timer fired meanwhile. A pause of the machine costs a few turns.
 * Work that blocks the event loop leaves none.
 */
export async function turnsPerSecond(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const start = performance.now();
  const timer = setInterval(() => turns++, 1);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return (turns * 1_000) / (performance.now() - start);
}
