/** Injection tokens for applications with destinations at run time. Other applications load none of this code. */

/** The parts that keep destinations. */
export const DESTINATION_PARTS = Symbol('nestjs-analytics:destination-parts');
/** Looks destinations up. */
export const DESTINATION_DIRECTORY = Symbol('nestjs-analytics:destination-directory');
/** The destinations that this process delivers to. */
export const LIVE_DESTINATIONS = Symbol('nestjs-analytics:live-destinations');
