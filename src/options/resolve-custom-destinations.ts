import type { OptionProblem } from '../errors/option-problem.js';
import { InvalidOptionsError } from '../errors/setup.errors.js';
import { LONGEST_TIMER } from '../shared/clock.js';
import { closestName } from '../shared/closest-name.js';
import type { CustomDestination, CustomDestinationClass } from './custom-destination.interface.js';
import { describe, describeType, isRecord, OptionReader } from './option-reader.js';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** Default of `batchSize`: the messages of one job, which a call cannot exceed. */
const BATCH_SIZE = 200;
const MAX_BATCH_SIZE = 10_000;
/** Characters of the shortest name that can be a typo: shorter names look like every option. */
const MIN_TYPO = 4;

const OPTIONS: readonly string[] = [
  'id',
  'name',
  'enabled',
  'sources',
  'batchSize',
  'timeout',
  'retryWindow',
  'deliver',
] satisfies (keyof CustomDestination)[];

const EXPECTED = 'an object `{ id, deliver, … }` or a class of such objects';

/** A custom destination with its defaults filled in and every rule checked. */
export interface ResolvedCustomDestination {
  id: string;
  name: string;
  enabled: boolean;
  /** Names of the connected sources. */
  sources: string[];
  batchSize: number;
  timeout: number;
  retryWindow: number;
  /** Untyped code may return anything. */
  deliver: (...call: Parameters<CustomDestination['deliver']>) => unknown;
}

/** What `customDestinations` holds. */
export interface ResolvedCustomDestinations {
  /** Destinations that were given as objects. */
  objects: ResolvedCustomDestination[];
  /** Classes by their index in the option, to be instantiated once the application's providers exist. */
  classes: ReadonlyMap<number, CustomDestinationClass>;
}

/** Reads `customDestinations`. @param taken ids of other destinations */
export function resolveCustomDestinations(
  options: OptionReader,
  sources: readonly string[],
  taken: readonly string[],
): ResolvedCustomDestinations {
  const given = options.array('customDestinations', `an array; each is ${EXPECTED}`) ?? [];
  if (given.length > 0 && options.get('endpoint') !== undefined) {
    options.report('customDestinations', 'no value when `endpoint` is given', 'both');
  }
  const classes = new Map<number, CustomDestinationClass>();
  const objects: [number, unknown][] = [];
  for (const [index, one] of given.entries()) {
    if (isClass(one)) classes.set(index, one);
    else objects.push([index, one]);
  }
  return { objects: resolveAll(objects, { sources, taken, problems: options.problems }), classes };
}

/**
 * Checks the instances of classes in the same way as objects.
 *
 * @throws InvalidOptionsError
 */
export function resolveInstances(
  instances: ReadonlyMap<number, unknown>,
  sources: readonly string[],
  taken: readonly string[],
): ResolvedCustomDestination[] {
  const problems: OptionProblem[] = [];
  const resolved = resolveAll([...instances], { sources, taken, problems });
  if (problems.length > 0) throw new InvalidOptionsError(problems);
  return resolved;
}

interface Rules {
  sources: readonly string[];
  taken: readonly string[];
  problems: OptionProblem[];
}

function resolveAll(
  given: readonly [index: number, destination: unknown][],
  { sources, taken, problems }: Rules,
): ResolvedCustomDestination[] {
  const ids = new Set(taken);
  return given.map(([index, one]) => {
    const path = `customDestinations[${index}]`;
    const destination = isRecord(one) ? one : {};
    const reader = new OptionReader(destination, path, problems);
    if (!isRecord(one)) {
      problems.push({ path, expected: EXPECTED, given: describeType(one) });
      return resolveOne(new OptionReader({}, path, []), destination, sources);
    }
    reportTypos(one, reader);
    const resolved = resolveOne(reader, destination, sources);
    if (resolved.id !== '' && ids.has(resolved.id)) {
      reader.report('id', 'an id that no other destination has', describe(resolved.id));
    }
    ids.add(resolved.id);
    return resolved;
  });
}

function resolveOne(
  options: OptionReader,
  destination: object,
  sources: readonly string[],
): ResolvedCustomDestination {
  const id = options.requiredString('id');
  return {
    id,
    name: resolveName(options, id),
    enabled: options.boolean('enabled', true),
    sources: options.names('sources', sources, 'sources'),
    batchSize: options.number('batchSize', BATCH_SIZE, { min: 1, max: MAX_BATCH_SIZE }),
    timeout: options.milliseconds('timeout', 30 * SECOND, { min: 1, max: LONGEST_TIMER }),
    retryWindow: options.milliseconds('retryWindow', 4 * HOUR, { min: 0, max: LONGEST_TIMER }),
    deliver: resolveDeliver(options, destination),
  };
}

function resolveName(options: OptionReader, id: string): string {
  const name = options.get('name') === undefined ? id : options.requiredString('name');
  if (name === 'All')
    options.report('name', 'a name other than `All`, which `integrations` reserves', describe(name));
  return name;
}

function resolveDeliver(options: OptionReader, destination: object): ResolvedCustomDestination['deliver'] {
  const deliver = options.get('deliver');
  if (isDeliver(deliver)) return (...call) => deliver.apply(destination, call);
  options.report('deliver', 'a function', describe(deliver));
  return () => undefined;
}

/** Reports only unknown names that look like an option: an object may also hold what its `deliver` uses. */
function reportTypos(destination: Record<string, unknown>, reader: OptionReader): void {
  if (Object.getPrototypeOf(destination) !== Object.prototype) return;
  for (const name of Object.keys(destination).filter((one) => !OPTIONS.includes(one))) {
    const similar = name.length < MIN_TYPO ? undefined : closestName(name, OPTIONS);
    if (similar !== undefined) reader.report(name, `\`${similar}\``, 'an unknown name');
  }
}

function isClass(value: unknown): value is CustomDestinationClass {
  return typeof value === 'function' && typeof value.prototype === 'object';
}

function isDeliver(value: unknown): value is ResolvedCustomDestination['deliver'] {
  return typeof value === 'function';
}
