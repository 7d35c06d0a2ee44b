/**
 * Resolves to what a Redis has done so far: commands, including those inside scripts, and the microseconds of CPU of
 * the thread that runs them.
 */
export async function workOf(redis) {
  const stats = await redis.info('commandstats');
  const cpu = await redis.info('cpu');
  const commands = Array.from(stats.matchAll(/calls=(\d+)/g), ([, calls]) => Number(calls));
  const seconds = Array.from(cpu.matchAll(/used_cpu_\w+_main_thread:([\d.]+)/g), ([, value]) =>
    Number(value),
  );
  return { commands: sum(commands), cpu: sum(seconds) * 1e6 };
}

/** Returns what several servers did between two looks at them. */
export function workBetween(before, after) {
  return after.map(({ commands, cpu }, index) => ({
    commands: commands - before[index].commands,
    cpu: cpu - before[index].cpu,
  }));
}

export function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
