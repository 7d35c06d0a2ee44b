/**
 * Resolves to events a second, and to microseconds of this process's CPU for each event.
 *
 * @param work the clock stops when it resolves
 * @param settle waits for what follows from the work, which costs CPU too and must not run into the next measurement
 */
export async function measure(events, work, settle = () => undefined) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1000;
  await settle();
  const { user, system } = process.cpuUsage(cpu);
  return { rate: events / seconds, cpu: (user + system) / events };
}
