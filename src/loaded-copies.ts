import type { Provider, Type } from '@nestjs/common';
import { PACKAGE_ROOT } from '#package-root';

/** The services that are injected by their class, by the name of the class. */
type Services = Readonly<Record<string, Type>>;

interface LoadedCopies {
  /**
   * By the file that it was evaluated from, the first copy and the latest. A test that resets its modules evaluates the same
   * file any number of times, and each copy holds all of this package.
   */
  copies: Map<unknown, readonly Services[]>;
  /** Whether a module was set up with the copies so far. */
  isInUse: boolean;
  isTold: boolean;
}

const LOADED = Symbol.for('nestjs-analytics:loaded-copies');

/**
 * Tells formats and versions apart: only in CommonJS has a file such a name. In a bundle of ES modules nothing does, so each
 * is one of its own.
 */
const FILE: unknown = typeof __filename === 'string' ? __filename : PACKAGE_ROOT === '.' ? {} : PACKAGE_ROOT;

/** All copies of this package in the process: Node loads its ES modules and its CommonJS as two. */
function loadedCopies(): LoadedCopies {
  const holder: typeof globalThis & { [LOADED]?: LoadedCopies } = globalThis;
  return (holder[LOADED] ??= { copies: new Map(), isInUse: false, isTold: false });
}

/**
 * Makes the services of this copy known to the others, whose modules then provide them as well. If one is set
 * up already, a warning says so, since Nest would only say that it cannot resolve a dependency. There is none where the same
 * file is evaluated again, as after `jest.resetModules()`: what sets up the module is evaluated again as well.
 */
export function registerCopy(services: Services): void {
  const loaded = loadedCopies();
  const [first] = loaded.copies.get(FILE) ?? [];
  loaded.copies.set(FILE, first === undefined ? [services] : [first, services]);
  if (first !== undefined || !loaded.isInUse || loaded.isTold) return;
  loaded.isTold = true;
  process.emitWarning(
    'nestjs-analytics was loaded a second time, as ES modules and as CommonJS or in two versions, after ' +
      'AnalyticsModule was set up. What asks for a service of the second one is not given any. Load both before ' +
      'AnalyticsModule.forRoot is called, or only one of them.',
    { code: 'NESTJS_ANALYTICS_LOADED_TWICE' },
  );
}

/** Whether any application of this process has set the module up, with whatever copy. */
export function isSetUp(): boolean {
  return loadedCopies().isInUse;
}

/** Providers that give the services of a module to whoever asks for those of another copy. */
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
