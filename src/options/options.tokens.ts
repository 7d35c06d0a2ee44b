/** The checked options with every default filled in. */
export const RESOLVED_OPTIONS = Symbol.for('nestjs-analytics:resolved-options');

/** The extras of `forRoot` and `forRootAsync`, as given. Absent if neither was called. */
export const MODULE_EXTRAS = Symbol.for('nestjs-analytics:module-extras');

/** The argument of `forRoot`, or what the factory of `forRootAsync` returned. */
export const MODULE_OPTIONS = Symbol.for('nestjs-analytics:module-options');

/** Records messages instead of queueing them. Only the testing module provides this. */
export const RECORDING = Symbol.for('nestjs-analytics:recording');
