/** Injection tokens of what only an application with destinations at run time has; the others load nothing of it. */

/** Where they are kept. */
export const DESTINATION_PARTS = Symbol('nestjs-analytics:destination-parts');
/** Looks them up. */
export const DESTINATION_DIRECTORY = Symbol('nestjs-analytics:destination-directory');
/** Those that this process delivers to. */
export const LIVE_DESTINATIONS = Symbol('nestjs-analytics:live-destinations');
