import { types } from 'node:util';
import { AnalyticsError } from './analytics.error.js';

const NOT_FOUND_CODES = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** The chosen queue needs a package that is an optional peer of this one, and it is not installed. */
export class MissingPackageError extends AnalyticsError {
  readonly code = 'MISSING_PACKAGE';

  constructor(
    /** Name of the package, as in `npm install <name>`. */
    readonly packageName: string,
    options?: ErrorOptions,
  ) {
    super(
      `The package ${packageName} is needed for the queue that was chosen with \`connection\`, and is not ` +
        `installed. Run \`npm install ${packageName}\`, or choose another queue.`,
      options,
    );
  }

  /**
   * What to throw when `import(packageName)` failed: this error when the package itself is absent,
   * the error as it was when the package is there but broken.
   */
  static explain(packageName: string, cause: unknown): unknown {
    return isNotFound(cause, packageName) ? new MissingPackageError(packageName, { cause }) : cause;
  }
}

function isNotFound(cause: unknown, packageName: string): boolean {
  return (
    types.isNativeError(cause) &&
    'code' in cause &&
    typeof cause.code === 'string' &&
    NOT_FOUND_CODES.has(cause.code) &&
    cause.message.includes(`'${packageName}'`)
  );
}
