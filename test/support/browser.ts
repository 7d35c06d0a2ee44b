import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuardedChild } from './child-process.js';
import { findBinary } from './find-binary.js';
import { until } from './until.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--remote-debugging-port=0',
];

export interface BrowserOptions {
  /** Addresses of host names, such as `127.0.0.1:8443`. All other names lead nowhere. */
  hosts: Record<string, string>;
}

/** A browser that shows one page and has a profile of its own. It accepts any certificate. */
export class Browser {
  private constructor(
    private readonly child: GuardedChild,
    private readonly profile: string,
  ) {}

  static get binary(): string | undefined {
    return NAMES.map((name) => findBinary(name)).find((path) => path !== undefined);
  }

  static async open(url: string, { hosts }: BrowserOptions): Promise<Browser> {
    const { binary } = Browser;
    if (binary === undefined) throw new Error('There is no Chromium on the PATH');
    const profile = await mkdtemp(join(tmpdir(), 'analytics-browser-'));
    const rules = Object.entries(hosts).map(([name, address]) => `MAP ${name} ${address}`);
    const child = await GuardedChild.start(binary, [
      ...FLAGS,
      '--ignore-certificate-errors',
      `--user-data-dir=${profile}`,
      `--host-resolver-rules=${[...rules, 'MAP * ~NOTFOUND', 'EXCLUDE 127.0.0.1'].join(', ')}`,
      url,
    ]);
    child.drain();
    return new Browser(child, profile);
  }

  /** Resolves to the URL at which a program can control the browser. */
  controlUrl(): Promise<string> {
    return until(async () => {
      const text = await readFile(join(this.profile, 'DevToolsActivePort'), 'utf8').catch(() => '');
      const [port, path] = text.split('\n');
      return path === undefined ? undefined : `ws://127.0.0.1:${port}${path}`;
    });
  }

  async close(): Promise<void> {
    await this.child.stop('SIGTERM');
    await rm(this.profile, { recursive: true, maxRetries: 20, retryDelay: 100 });
  }
}
