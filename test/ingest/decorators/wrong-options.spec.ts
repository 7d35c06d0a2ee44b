import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Alias, Group, Page, Track } from '../../../src/index.js';
import { type DecoratedApp, DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

/** Returns options as code without types passes them. */
function untyped(options: object): never {
  return options as never;
}

@Injectable()
class Orders {
  @Track('Misspelt', untyped({ userId: 'u1', propertys: { total: 1 } }))
  @Track('Failed', untyped({ userId: 'u1', on: 'error' }))
  create(): string {
    return 'made';
  }

  @Page(untyped({ userId: 'u1', title: 'Orders' }))
  @Group(untyped({ userId: 'u1', groupId: 'g1', properties: { plan: 'team' } }))
  list(): string {
    return 'all';
  }

  @Track('Good', { userId: 'u1', on: 'settled', when: true, properties: { total: 1 }, tenant: undefined })
  @Alias({ userId: 'u1', previousId: 'a1', on: 'success' })
  sign(): string {
    return 'signed';
  }
}

describe('an option that a decorator does not have', () => {
  const environment = process.env.NODE_ENV;
  afterEach(() => {
    process.env.NODE_ENV = environment;
  });

  const callTwice = async (): Promise<DecoratedApp> => {
    const app = await apps.start({ providers: [Orders] });
    const orders = app.get(Orders);
    for (let n = 0; n < 2; n++) expect([orders.create(), orders.list(), orders.sign()]).toContain('made');
    return app;
  };

  it('is logged once for each method outside of production, and the calls are recorded', async () => {
    const app = await callTwice();
    const told = [
      /@Track\("Misspelt"\) on Orders\.create has .* has no `propertys`\. Did you mean `properties`\?$/,
      /@Track\("Failed"\) on Orders\.create has .* Expected `on` to be 'success', .*, got "error" \(string\)$/,
      /@Page on Orders\.list has .* has no `title`\. Its options are .*\bname, category, properties\.$/,
      /@Group on Orders\.list has .* has no `properties`\. Its options are .*\btraits\.$/,
    ];
    expect(app.logs.about('Orders.')).toEqual(told.map((line) => expect.stringMatching(line)));
    expect(app.events.slice(0, 2)).toEqual(['Misspelt', 'Failed']);
    expect(app.messages).toHaveLength(12);
  });

  it('is not looked for in production', async () => {
    process.env.NODE_ENV = 'production';
    const app = await callTwice();
    expect(app.logs.about('Orders.')).toEqual([]);
    expect(app.messages).toHaveLength(12);
  });
});
