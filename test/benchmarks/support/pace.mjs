/**
 * Makes calls tick by tick, a tick being a millisecond or what a timer makes of it, until `calls` were made
 * or `duration` milliseconds have passed.
 *
 * @param perMillisecond calls that are due with each millisecond
 * @param atOnce most calls of one tick: who is behind is not pushed further back
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
