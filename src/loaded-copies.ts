import type { Provider, Type } from '@nestjs/common';

/** The services that are injected by their class, by the name of the class. */
type Services = Readonly<Record<string, Type>>;

interface LoadedCopies {
  copies: Services[];
  /** Whether a module was set up with the copies so far. */
  isInUse: boolean;
  isTold: boolean;
}

const LOADED = Symbol.for('nestjs-analytics:loaded-copies');

/** All copies of this package in the process: Node loads its ES modules and its CommonJS as two. */
function loadedCopies(): LoadedCopies {
  const holder: typeof globalThis & { [LOADED]?: LoadedCopies } = globalThis;
  return (holder[LOADED] ??= { copies: [], isInUse: false, isTold: false });
}

/**
 * Makes the services of this copy known to the others, whose modules then provide them as well. If one is set
 * up already, a warning says so, since Nest would only say that it cannot resolve a dependency.
 */
export function registerCopy(services: Services): void {
  const loaded = loadedCopies();
  loaded.copies.push(services);
  if (!loaded.isInUse || loaded.isTold) return;
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
  return loaded.copies
    .filter((copy) => copy !== services)
    .flatMap((copy) =>
      Object.entries(services).flatMap(([name, service]) => {
        const theirs = copy[name];
        return theirs === undefined ? [] : [{ provide: theirs, useExisting: service }];
      }),
    );
}
