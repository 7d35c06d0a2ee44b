import { thrownAt } from '../shared/thrown-at.js';

/** Tells what samplers and span processors throw: one line per place, not one per request. */
export function tellThrown(logger: { error(message: string): void }): (error: unknown) => void {
  const told = new Set<string>();
  return (error) => {
    const thrown = thrownAt(error);
    if (told.has(thrown)) return;
    told.add(thrown);
    logger.error(
      `OpenTelemetry threw ${thrown}. Delivery continues; fix the sampler or span processor of the application.`,
    );
  };
}
