import { types } from 'node:util';
import { AnalyticsError } from './analytics.error.js';
import { type OptionProblem, withProblems } from './option-problem.js';

/** The options of the module are wrong. Thrown at start, with all problems in one list. */
export class InvalidOptionsError extends AnalyticsError {
  readonly code = 'INVALID_OPTIONS';

  constructor(readonly problems: readonly OptionProblem[]) {
    super(withProblems('AnalyticsModule was given wrong options', problems));
  }
}

/** `AnalyticsModule.forRoot` was called twice in one application, which would create two of everything. */
export class DuplicateModuleError extends AnalyticsError {
  readonly code = 'DUPLICATE_MODULE';

  constructor() {
    super(
      'AnalyticsModule.forRoot() or forRootAsync() is imported more than once in this application. ' +
        'Import it once, in the root module: it is global, so that AnalyticsService can be injected anywhere.',
    );
  }
}

/** The module is imported in a way that gives it no options. */
export class InvalidImportError extends AnalyticsError {
  readonly code = 'INVALID_IMPORT';

  /** `imports: [AnalyticsModule]`, which gives no options. */
  static bare(): InvalidImportError {
    return new InvalidImportError(
      'AnalyticsModule is imported without options. Import `AnalyticsModule.forRoot({ writeKey, … })` or ' +
        '`forRootAsync` once, in the root module: it is global, so that other modules need no import of it. ' +
        'With `isGlobal: false`, keep what `forRoot` returns in a constant, and import that constant wherever ' +
        'AnalyticsService is injected.',
    );
  }

  /** A testing module beside the application's own module. */
  static testing(): InvalidImportError {
    return new InvalidImportError(
      'AnalyticsTestingModule.forRoot() is imported beside AnalyticsModule.forRoot(), or in its place. For an ' +
        'application that imports AnalyticsModule, call `overrideModule(AnalyticsModule).useModule(AnalyticsTestingModule)`, ' +
        'without `forRoot`: the options of the application stay.',
    );
  }

  /** `imports: [AnalyticsTestingModule]`, which records nothing by itself. */
  static bareTesting(): InvalidImportError {
    return new InvalidImportError(
      'AnalyticsTestingModule is imported without options, and there is no AnalyticsModule whose messages it could ' +
        'record. Import `AnalyticsTestingModule.forRoot()`. If it replaces AnalyticsModule in a test, the ' +
        'application imports AnalyticsModule without options: it needs `AnalyticsModule.forRoot({ … })`.',
    );
  }

  /** `AnalyticsModule.forFeature()`, which other modules have. */
  static forFeature(): InvalidImportError {
    return new InvalidImportError(
      'AnalyticsModule has no `forFeature`. Import `AnalyticsModule.forRoot` or `forRootAsync` once, in the root ' +
        'module, and inject AnalyticsService anywhere; several sources are listed in its option `sources`.',
    );
  }
}

/** The factory of `forRootAsync` threw, so there are no options. The `cause` is what it threw. */
export class OptionsFactoryError extends AnalyticsError {
  readonly code = 'OPTIONS_FACTORY_FAILED';

  constructor(cause: unknown) {
    const reason = types.isNativeError(cause) ? `${cause.name}: ${cause.message}` : `a ${typeof cause}`;
    super(
      `The factory of AnalyticsModule.forRootAsync threw ${reason}. Correct the factory, or the ` +
        'configuration that it reads; the error that it threw is the `cause`.',
      { cause },
    );
  }
}

const NOT_FOUND_CODES = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** The chosen queue needs an optional peer dependency that is not installed. */
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
   * Returns the error to throw after `import(packageName)` failed: this one if the package is absent, the
   * original error if the package is there but broken.
   */
  static explain(packageName: string, cause: unknown): unknown {
    return isPackageMissing(cause, packageName) ? new MissingPackageError(packageName, { cause }) : cause;
  }
}

/** Whether `import(packageName)` failed because the package is absent. */
export function isPackageMissing(cause: unknown, packageName: string): boolean {
  return (
    // An error from a loader hook of Node is not a native error, and an error from a test runner is not an instance of
    // `Error`.
    (types.isNativeError(cause) || cause instanceof Error) &&
    'code' in cause &&
    typeof cause.code === 'string' &&
    NOT_FOUND_CODES.has(cause.code) &&
    // The texts of Node and, for an optional peer, of Yarn's Plug'n'Play.
    [`'${packageName}'`, `tried to access ${packageName} `].some((text) => cause.message.includes(text))
  );
}

/** An HTTP API of this module is enabled on a web server that is neither Express nor Fastify. */
export class UnsupportedAdapterError extends AnalyticsError {
  readonly code = 'UNSUPPORTED_ADAPTER';

  /** @param api name of the API, as the beginning of a sentence */
  constructor(adapter: string, api: string) {
    super(
      `${api} cannot be mounted on the HTTP adapter "${adapter}". Use @nestjs/platform-express or ` +
        `@nestjs/platform-fastify, or leave out the option that enables it.`,
    );
  }
}

/** `@Track` or one of its siblings is not on a method of an instance. Thrown when the class is defined. */
export class InvalidDecoratorTargetError extends AnalyticsError {
  readonly code = 'INVALID_DECORATOR_TARGET';

  constructor(decorator: string, place: string, remedy: string) {
    super(`${decorator} is on ${place}, where it cannot work. ${remedy}`);
  }
}

/** `connection` leads to a server that cannot carry the queue as it is set up. */
export class UnsupportedQueueServerError extends AnalyticsError {
  readonly code = 'UNSUPPORTED_QUEUE_SERVER';

  /**
   * @param fault what is wrong with the server, as the end of a sentence
   * @param remedy what to do about it, in a sentence
   */
  constructor(fault: string, remedy: string, options?: ErrorOptions) {
    super(`The queue cannot use its \`connection\`: ${fault}. ${remedy}`, options);
  }
}

/** A job was added to the queue of an application that opens none. */
export class NoQueueError extends AnalyticsError {
  readonly code = 'NO_QUEUE';

  constructor() {
    super(
      'This application has no queue, since there is nothing that it could deliver. Give `webhooks`, ' +
        '`destinations`, `customDestinations` or an `endpoint`, and leave out `enabled: false`. In a test, ' +
        '`RecordedAnalytics` has the messages.',
    );
  }
}
