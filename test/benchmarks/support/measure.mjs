/**
 * Events a second, and microseconds of this process's CPU for each.
 *
 * @param work the clock stops when it is done
 * @param settle what follows from the work: it costs CPU too, and must not run into the next measurement
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
