/** A destination of which nothing settles for this long hangs, in milliseconds. */
const HANGS_AFTER = 250;
/** Batches that a destination may have in flight while it hangs. */
const MAX_WHILE_HANGING = 4;
/** Slots that a destination may have before anything of it has settled: it may turn out to hang. */
const MAX_UNPROVEN = 4;

/** Held by a batch while it is delivered. */
export interface DeliverySlot {
  /** A message of the batch was answered. */
  progress(): void;
  release(): void;
}

/** The batches of one destination that are in flight. */
interface InFlight {
  batches: number;
  hangs: boolean;
  /** Whether any of its messages was answered since it was last idle. */
  isProven: boolean;
  /** When the latest of them was, or the first of them began, by `performance.now()`. */
  progressedAt: number;
  timer: NodeJS.Timeout | undefined;
}

interface Waiter {
  destination: string;
  resolve: (slot: DeliverySlot | undefined) => void;
}

/**
 * Shares out the batches that a process delivers at once. A slot is for work that moves: the batches of a
 * destination that hangs go on beside the slots, a few at the most, so that destinations that hang never
 * stop the others.
 */
export class DeliverySlots {
  private taken = 0;
  /** Destinations that hang. */
  private hanging = 0;
  private readonly inFlight = new Map<string, InFlight>();
  private waiting: Waiter[] = [];

  /** @param limit batches of destinations that do not hang, delivered at once */
  constructor(private readonly limit: number) {}

  /** Waits for a slot; `undefined` when the destination hangs and has all in flight that it may. */
  enter(destination: string): Promise<DeliverySlot | undefined> {
    if (this.isFull(destination)) return Promise.resolve(undefined);
    if (this.hasSlotFor(destination)) return Promise.resolve(this.open(destination));
    return new Promise((resolve) => this.waiting.push({ destination, resolve }));
  }

  private isFull(destination: string): boolean {
    // So it is nearly always, and every batch that ends asks for each that waits.
    if (this.hanging === 0) return false;
    const inFlight = this.inFlight.get(destination);
    return inFlight !== undefined && inFlight.hangs && inFlight.batches >= MAX_WHILE_HANGING;
  }

  private hasSlotFor(destination: string): boolean {
    if (this.taken >= this.limit) return false;
    const inFlight = this.inFlight.get(destination);
    return inFlight === undefined || inFlight.isProven || inFlight.batches < MAX_UNPROVEN;
  }

  private open(destination: string): DeliverySlot {
    const inFlight = this.inFlight.get(destination) ?? this.begin(destination);
    inFlight.batches++;
    if (!inFlight.hangs) this.taken++;
    return {
      progress: () => {
        // This happens for every message, so the timer is left to run: it looks here when it fires.
        inFlight.progressedAt = performance.now();
        if (inFlight.hangs) {
          this.setHanging(inFlight, false);
          this.watch(inFlight);
        }
        if (inFlight.isProven) return;
        inFlight.isProven = true;
        this.admit();
      },
      release: () => {
        inFlight.batches--;
        if (!inFlight.hangs) this.taken--;
        if (inFlight.batches === 0) {
          if (inFlight.hangs) this.hanging--;
          clearTimeout(inFlight.timer);
          this.inFlight.delete(destination);
        }
        this.admit();
      },
    };
  }

  private begin(destination: string): InFlight {
    const inFlight: InFlight = {
      batches: 0,
      hangs: false,
      isProven: false,
      progressedAt: performance.now(),
      timer: undefined,
    };
    this.inFlight.set(destination, inFlight);
    this.watch(inFlight);
    return inFlight;
  }

  private watch(inFlight: InFlight): void {
    const rest = inFlight.progressedAt + HANGS_AFTER - performance.now();
    const look = (): void => {
      if (performance.now() < inFlight.progressedAt + HANGS_AFTER) {
        this.watch(inFlight);
        return;
      }
      this.setHanging(inFlight, true);
      this.admit();
    };
    inFlight.timer = setTimeout(look, Math.ceil(rest)).unref();
  }

  private setHanging(inFlight: InFlight, hangs: boolean): void {
    if (inFlight.hangs === hangs) return;
    inFlight.hangs = hangs;
    this.hanging += hangs ? 1 : -1;
    this.taken += hangs ? -inFlight.batches : inFlight.batches;
  }

  /** Gives free slots to the next in line; who may not have one any more is told so. */
  private admit(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const [index, waiter] of waiting.entries()) {
      if (this.taken >= this.limit && this.hanging === 0) {
        // There may be hundreds in line, and nothing has changed for the rest of them.
        this.waiting.push(...waiting.slice(index));
        return;
      }
      if (this.isFull(waiter.destination)) waiter.resolve(undefined);
      else if (this.hasSlotFor(waiter.destination)) waiter.resolve(this.open(waiter.destination));
      else this.waiting.push(waiter);
    }
  }
}
