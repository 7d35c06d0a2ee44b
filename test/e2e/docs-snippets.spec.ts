import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findBinary } from '../support/find-binary.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VECTOR = {
  body: '{"name":"Zoë 🚀"}',
  secret: 'teehee',
  digest: '0073f327441fe1b05a26cad3f59eab4b7d51c2ea',
};

const run = promisify(execFile);

describe('The README', () => {
  let readme: string;
  /** Inside the package, so that its snippets find it and its dependencies by their names. */
  let folder: string;

  beforeAll(async () => {
    readme = await readFile(join(ROOT, 'README.md'), 'utf8');
    folder = await mkdtemp(join(ROOT, 'dist', 'readme-'));
  });

  afterAll(() => rm(folder, { recursive: true }));

  function snippet(name: string): string {
    const code = new RegExp(`<!-- test: ${name} -->\\n+\`\`\`\\w+\\n([^]*?)\`\`\``).exec(readme)?.[1];
    if (code === undefined) throw new Error(`The README has no snippet "${name}"`);
    return code;
  }

  /** Runs a TypeScript module as Node would run it once it is compiled, and resolves to what it prints. */
  async function execute(file: string, source: string): Promise<string> {
    const { code } = transformSync(source, {
      jsc: {
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        target: 'es2022',
      },
    });
    await writeFile(join(folder, file), code);
    const { stdout } = await run(process.execPath, [join(folder, file)], { cwd: folder, timeout: 25_000 });
    return stdout;
  }

  it('has a quick start that takes an event', async () => {
    const stdout = await execute(
      'quick-start.mjs',
      `import 'reflect-metadata';
      import { NestFactory } from '@nestjs/core';
      ${snippet('quick start')}
      ${snippet('service')}
      @Module({ imports: [AppModule], providers: [OrdersService] })
      class Application {}
      const app = await NestFactory.createApplicationContext(Application, { logger: ['error'] });
      app.get(OrdersService).complete('u1', 39.95);
      console.log(JSON.stringify(await app.get(AnalyticsService).flush()));
      await app.close();`,
    );
    expect(JSON.parse(stdout)).toEqual({ queued: 1, refused: 0, pending: 0 });
  });

  it('shows options that come from another provider', async () => {
    const stdout = await execute(
      'async.mjs',
      `import 'reflect-metadata';
      import { Global, Module } from '@nestjs/common';
      import { NestFactory } from '@nestjs/core';
      import { AnalyticsModule, AnalyticsService } from 'nestjs-analytics';
      const values = { ANALYTICS_WRITE_KEY: 'wk', WEBHOOK_URLS: 'https://hooks.example.com/a,https://hooks.example.com/b' };
      class ConfigService { get(name) { return values[name]; } getOrThrow(name) { return values[name]; } }
      @Global() @Module({ providers: [ConfigService], exports: [ConfigService] }) class ConfigModule {}
      const analytics = ${snippet('async')}
      @Module({ imports: [ConfigModule, analytics] }) class Application {}
      const app = await NestFactory.createApplicationContext(Application, { logger: ['error'] });
      console.log(app.get(AnalyticsService).track({ userId: 'u1', event: 'E' }));
      await app.close();`,
    );
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
  });

  it('verifies a signature in Node', async () => {
    const stdout = await execute(
      'verify.mjs',
      `${snippet('verify node')}
      const given = ${JSON.stringify(VECTOR)};
      console.log(isAuthentic(Buffer.from(given.body), given.digest, given.secret), isAuthentic(Buffer.from(given.body), given.digest, 'other'));`,
    );
    expect(stdout).toBe('true false\n');
  });

  const python = findBinary('python3');
  if (python !== undefined) {
    it('verifies a signature in Python', async () => {
      const program = `${snippet('verify python')}
import sys
body, digest, secret = sys.argv[1:]
print(is_authentic(body.encode(), digest, secret), is_authentic(body.encode(), digest, "other"))`;
      const { stdout } = await run(python, ['-c', program, VECTOR.body, VECTOR.digest, VECTOR.secret]);
      expect(stdout).toBe('True False\n');
    });
  }

  const go = findBinary('go');
  if (go !== undefined) {
    it('verifies a signature in Go', async () => {
      const program = `package main
import ("crypto/hmac"; "crypto/sha1"; "encoding/hex"; "fmt"; "os")
${snippet('verify go')}
func main() {
  body, digest, secret := []byte(os.Args[1]), os.Args[2], os.Args[3]
  fmt.Println(isAuthentic(body, digest, secret), isAuthentic(body, digest, "other"))
}`;
      await writeFile(join(folder, 'verify.go'), program);
      const { stdout } = await run(go, [
        'run',
        join(folder, 'verify.go'),
        VECTOR.body,
        VECTOR.digest,
        VECTOR.secret,
      ]);
      expect(stdout).toBe('true false\n');
    });
  }
});
