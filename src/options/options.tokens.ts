/** The checked options with every default filled in. */
export const RESOLVED_OPTIONS = Symbol.for('nestjs-analytics:resolved-options');

/** The extras of `forRoot` and `forRootAsync`, as given. Absent if neither was called. */
export const MODULE_EXTRAS = Symbol.for('nestjs-analytics:module-extras');

/** The argument of `forRoot`, or what the factory of `forRootAsync` returned. */
export const MODULE_OPTIONS = Symbol.for('nestjs-analytics:module-options');

/** What records messages in the place of the queue. Only the testing module provides it. */
export const RECORDING = Symbol.for('nestjs-analytics:recording');
