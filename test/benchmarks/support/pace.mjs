/**
 * Makes calls tick by tick, until `calls` were made or `duration` milliseconds have passed. A tick lasts a millisecond,
 * or as long as the timer takes.
 *
 * @param perMillisecond calls that become due each millisecond
 * @param atOnce most calls in one tick, so that a client that is behind does not fall further behind
 * @returns how many calls were made, and how many milliseconds were spent inside them
 */
export async function paced({ calls = Infinity, duration = Infinity, perMillisecond, atOnce }, call) {
  const start = performance.now();
  let made = 0;
  let inside = 0;
  for (let now = start; made < calls && now - start < duration; now = performance.now()) {
    const due = Math.floor((now - start) * perMillisecond);
    const end = Math.min(due, made + atOnce, calls);
    while (made < end) call(made++);
    inside += performance.now() - now;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return { made, inside };
}
