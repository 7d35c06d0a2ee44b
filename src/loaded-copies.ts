import type { Provider, Type } from '@nestjs/common';
import { PACKAGE_ROOT } from '#package-root';

/** The services that are injected by class, keyed by class name. */
type Services = Readonly<Record<string, Type>>;

interface LoadedCopies {
  /**
   * The first copy and the latest, by the file that they were evaluated from. A test that resets its modules evaluates
   * the same file any number of times, and each copy holds the whole package.
   */
  copies: Map<unknown, readonly Services[]>;
  /** Whether the module has been set up, with the copies known so far. */
  isInUse: boolean;
  isTold: boolean;
}

const LOADED = Symbol.for('nestjs-analytics:loaded-copies');

/**
 * Tells formats and versions apart: only CommonJS has `__filename`. In a bundle of ES modules nothing names the file,
 * so each copy counts as a file of its own.
 */
const FILE: unknown = typeof __filename === 'string' ? __filename : PACKAGE_ROOT === '.' ? {} : PACKAGE_ROOT;

/** Returns all copies of this package in the process: Node loads its ES modules and its CommonJS as two copies. */
function loadedCopies(): LoadedCopies {
  const holder: typeof globalThis & { [LOADED]?: LoadedCopies } = globalThis;
  return (holder[LOADED] ??= { copies: new Map(), isInUse: false, isTold: false });
}

/**
 * Makes the services of this copy known to the others, whose modules then provide them as well. If a module is already
 * set up, a warning says so, since Nest would only say that it cannot resolve a dependency. There is no warning if the
 * same file is evaluated again, as after `jest.resetModules()`: the code that sets up the module then runs again, too.
 */
export function registerCopy(services: Services): void {
  const loaded = loadedCopies();
  const [first] = loaded.copies.get(FILE) ?? [];
  loaded.copies.set(FILE, first === undefined ? [services] : [first, services]);
  if (first !== undefined || !loaded.isInUse || loaded.isTold) return;
  loaded.isTold = true;
  process.emitWarning(
    'nestjs-analytics was loaded a second time, as ES modules and as CommonJS or in two versions, after ' +
      'AnalyticsModule was set up. Services of the second copy cannot be injected. Load both before ' +
      'AnalyticsModule.forRoot is called, or only one of them.',
    { code: 'NESTJS_ANALYTICS_LOADED_TWICE' },
  );
}

/** Whether any application in this process has set the module up, with any copy. */
export function isSetUp(): boolean {
  return loadedCopies().isInUse;
}

/** Returns providers that resolve the service classes of other copies to the services of this one. */
export function aliasesOfCopies(services: Services): Exclude<Provider, Type>[] {
  const loaded = loadedCopies();
  loaded.isInUse = true;
  return [...loaded.copies.values()]
    .flat()
    .filter((copy) => copy !== services)
    .flatMap((copy) =>
      Object.entries(services).flatMap(([name, service]) => {
        const theirs = copy[name];
        return theirs === undefined ? [] : [{ provide: theirs, useExisting: service }];
      }),
    );
}
