import type { DefinedEvents, StandardSchema } from '../../options/standard-schema.types.js';

/**
 * Declares events once, by their schemas. The same object is the option `events`, and `EventsOf` derives the
 * types of `track()` and `@Track` from it. Returns its argument.
 *
 * @example
 * ```ts
 * export const events = defineEvents({
 *   'Order Completed': z.object({ orderId: z.string(), total: z.number() }),
 *   'Shop Opened': z.object({}),
 * });
 *
 * declare module 'nestjs-analytics' {
 *   interface AnalyticsEvents extends EventsOf<typeof events> {}
 * }
 * ```
 */
export function defineEvents<Schemas extends Readonly<Record<string, StandardSchema>>>(
  schemas: Schemas,
): DefinedEvents<Schemas>;
export function defineEvents(schemas: object): object {
  return schemas;
}
