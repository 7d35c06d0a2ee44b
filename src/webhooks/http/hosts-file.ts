import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

/** How often the file is checked, in milliseconds. */
const CHECK_INTERVAL = 5_000;

const LOOPBACK: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

export function systemHostsFile(): string {
  const { SystemRoot = 'C:\\Windows' } = process.env;
  return process.platform === 'win32' ? join(SystemRoot, 'System32/drivers/etc/hosts') : '/etc/hosts';
}

/**
 * The names in the system's hosts file, read again when it has changed. The file is read synchronously, which
 * takes microseconds: the application may be using all threads of the pool.
 */
export class HostsFile {
  private names = new Map<string, LookupAddress[]>();
  private version = '';
  private checkAt = -Infinity;

  constructor(
    private readonly path: string,
    private readonly checkInterval = CHECK_INTERVAL,
  ) {}

  /** Returns the addresses that the file has for a name. `localhost` is always loopback, even without an entry. */
  find(name: string): readonly LookupAddress[] | undefined {
    const key = name.toLowerCase().replace(/\.$/, '');
    if (performance.now() >= this.checkAt) this.check();
    const isLoopback = key === 'localhost' || key.endsWith('.localhost');
    return this.names.get(key) ?? (isLoopback ? LOOPBACK : undefined);
  }

  private check(): void {
    this.checkAt = performance.now() + this.checkInterval;
    try {
      const { mtimeMs, size, ino } = statSync(this.path);
      const version = `${mtimeMs} ${size} ${ino}`;
      if (version === this.version) return;
      this.names = parse(readFileSync(this.path, 'utf8'));
      this.version = version;
    } catch {
      // The file need not exist. If it cannot be read now, it is tried again, and the known names stay.
    }
  }
}

function parse(text: string): Map<string, LookupAddress[]> {
  const names = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...hosts] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const host of hosts) {
      const key = host.toLowerCase();
      const known = names.get(key) ?? [];
      if (!known.some((other) => other.address === address)) names.set(key, [...known, { address, family }]);
    }
  }
  return names;
}
