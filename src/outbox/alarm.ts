/** Ends a pause early. An alarm that rings between two pauses ends the next pause. */
export class Alarm {
  private hasRung = false;
  private end: () => void = () => undefined;

  readonly ring = (): void => {
    this.hasRung = true;
    this.end();
  };

  /** Waits `least` milliseconds, and then until the alarm rings, up to `milliseconds` more. */
  async wait(milliseconds: number, least: number): Promise<void> {
    if (least > 0) await pause(least);
    if (!this.hasRung && milliseconds > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds).unref();
        this.end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.hasRung = false;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}
