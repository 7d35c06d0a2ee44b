import { countOf } from '../../shared/count-of.js';
import { MinuteLog } from './minute-log.js';

/** The largest number of keys in a line. */
const MAX_KEYS = 3;
/** The largest number of characters of a key in a line. */
const MAX_SHOWN = 4;

/**
 * Logs requests that were answered 401: the first at once, later ones in one line a minute. A page with a
 * wrong write key shows no error to anybody, so this log is the only place to notice it.
 */
export class UnknownKeyLog {
  private readonly endings = new Set<string>();
  private readonly log: MinuteLog;

  constructor(private readonly logger: { warn(message: string): void }) {
    this.log = new MinuteLog((count) => {
      this.writeLine(count);
    });
  }

  /** @param key the unknown key; `undefined` if the request had none */
  add(key: string | undefined): void {
    if (this.endings.size < MAX_KEYS) this.endings.add(describeKey(key));
    this.log.add();
  }

  /** Called when the application has closed. */
  close(): void {
    this.log.close();
  }

  private writeLine(count: number): void {
    this.logger.warn(
      `The tracking API answered ${countOf(count, 'request')} with 401 and took nothing: ` +
        `${[...this.endings].join(', ')}. Check the write keys of your clients against \`sources\`.`,
    );
    this.endings.clear();
  }
}

/** Returns the end of a key, at most half of it: it may be another system's secret. */
function describeKey(key: string | undefined): string {
  if (key === undefined) return 'no write key';
  const shown = Math.min(MAX_SHOWN, Math.floor(key.length / 2));
  const ending = key.slice(key.length - shown).replace(/[^\x20-\x7e]/g, '?');
  return `an unknown write key that ends in "${ending}"`;
}
