import type { DestinationRecord } from '../options/destination-store.js';

/** The destinations of a tenant, as soon as the store answers. */
export type Found = Promise<readonly DestinationRecord[]>;

/** A look-up that several callers may wait for. */
export class PatientLookup {
  waiting = 0;
  readonly result: Found;

  /** @param askers who take turns with others */
  constructor(
    readonly askers: Set<string>,
    lookUp: (self: PatientLookup) => Found,
  ) {
    this.result = lookUp(this);
  }
}
