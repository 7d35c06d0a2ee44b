/** Limit for all bodies together, in bytes. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;

/** Gives up a body, which then releases its memory. */
type GiveUp = () => void;

/** Limits the memory for bodies that have not been read completely. */
export class HeldBodies {
  /** Bytes that each body takes, the oldest body first. */
  private readonly bytesOf = new Map<GiveUp, number>();
  private bytes = 0;

  /** Records how much memory a body takes now. Gives up bodies, perhaps this one, if that is too much for all. */
  hold(body: GiveUp, bytes: number): void {
    this.bytes += bytes - (this.bytesOf.get(body) ?? 0);
    this.bytesOf.set(body, bytes);
    this.makeRoom();
  }

  release(body: GiveUp): void {
    this.bytes -= this.bytesOf.get(body) ?? 0;
    this.bytesOf.delete(body);
  }

  /**
   * Gives up the largest bodies, the oldest of equally large ones first, until the others fit. If the body that needs
   * room were given up instead, a few senders that never finish would keep everybody's small requests out.
   */
  private makeRoom(): void {
    while (this.bytes > MAX_HELD_BYTES) {
      let largest: GiveUp | undefined;
      let most = 0;
      for (const [body, bytes] of this.bytesOf) if (bytes > most) [largest, most] = [body, bytes];
      if (largest === undefined) return;
      this.release(largest);
      largest();
    }
  }
}
