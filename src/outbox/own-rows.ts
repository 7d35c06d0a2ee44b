import { isForwarding } from '../options/resolve-forwarding.js';
import { type ResolvedOptions, sourceNames } from '../options/resolved-options.js';
import { ApplicationMarks } from '../queue/application-marks.js';
import type { RowWithoutMessage } from './outbox-store.js';
import type { RowTerms } from './row-terms.js';

/** Why a row is left to other processes. */
export interface ReasonToLeave {
  /** Text for the row's `problem`. */
  problem: string;
  /** Whether the row belongs to another application, as far as is known. */
  isOfOtherApplication?: boolean;
}

const WITH_OTHER_KEYS = 'wrote it, with other write keys; give each application an `outbox.table` of its own';
const OF_OTHER_APPLICATION: ReasonToLeave = {
  problem: `another application ${WITH_OTHER_KEYS}, or remove \`marks\` from its \`message\` if the row is this application's`,
  isOfOtherApplication: true,
};
const UNCERTAIN: ReasonToLeave = { problem: `perhaps another application ${WITH_OTHER_KEYS}` };

const OF_RUN_TIME: ReasonToLeave = {
  problem: 'it may be meant for destinations at run time, and this process has no `destinations`',
};

/** An `endpoint` gets whole messages, and all other destinations get the bodies of webhooks. */
const OF_OTHER_BODIES: ReasonToLeave = {
  problem:
    'it was written before or after a change between `webhooks` and `endpoint`; if no process of that version is left, ' +
    'remove `meantFor` from its `message`',
};

/** Tells which rows this process can move, and which it must leave to others. */
export class OwnRows {
  private readonly sources: readonly string[];
  private readonly marks: ApplicationMarks;
  /** Whether there are destinations at run time. */
  private readonly looksUp: boolean;
  private readonly forwards: boolean;
  private readonly webhooks: readonly string[];

  constructor(options: ResolvedOptions) {
    this.sources = sourceNames(options.sources);
    this.marks = new ApplicationMarks(options);
    this.looksUp = options.destinations !== undefined;
    this.forwards = options.forwarding !== undefined;
    this.webhooks = options.webhooks.map(({ id }) => id);
  }

  /**
   * Returns why a row has to be left to other processes, or `undefined` if this process can move it.
   *
   * @param isLeftInVain whether other processes have had enough time to take the row
   */
  reasonToLeave(
    row: Pick<RowWithoutMessage, 'source' | 'destinations'>,
    terms: RowTerms,
    isLeftInVain: boolean,
  ): ReasonToLeave | undefined {
    const ownership = this.marks.ownershipOf(terms);
    if (ownership === 'other') return OF_OTHER_APPLICATION;
    // The write key of this application may have changed. Then no other process takes the row.
    if (ownership === 'uncertain' && !isLeftInVain) return UNCERTAIN;
    if (!this.sources.includes(row.source)) return { problem: 'its source is unknown' };
    if (terms.meantFor?.some((id) => this.getsOtherBodies(id)) === true) return OF_OTHER_BODIES;
    return !this.looksUp && isToBeLookedUp(row, terms) ? OF_RUN_TIME : undefined;
  }

  private getsOtherBodies(destination: string): boolean {
    return isForwarding(destination) !== this.forwards && !this.webhooks.includes(destination);
  }
}

/** Whether a row may still have to go to destinations other than those in the options. */
function isToBeLookedUp(
  { destinations }: Pick<RowWithoutMessage, 'destinations'>,
  { looksUp, meantFor = [] }: RowTerms,
): boolean {
  return looksUp && destinations?.every((id) => meantFor.includes(id)) !== true;
}
