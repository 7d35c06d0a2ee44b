import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../..');
/** Beside this file in the compiler's eyes alone: on the disk, its declarations would reach every test. */
const PROGRAM = join(import.meta.dirname, 'typed-events.program.ts');

const DECLARATIONS = `
import { Injectable } from '@nestjs/common';
import { type AnalyticsModuleOptions, type AnalyticsService, Track } from '../../src/index.js';

declare module '../../src/index.js' {
  interface AnalyticsEvents {
    'Order Completed': { total: number; coupon?: string };
    'Shop Opened': { door?: string };
  }
}
declare const analytics: AnalyticsService;
declare const schema: NonNullable<AnalyticsModuleOptions['events']>['Shop Opened'];
`;

/** Compiles statements that follow the declarations, and returns what the compiler objects to. */
function problemsOf(statements: string): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, types: ['node'] }, ROOT);
  const host = ts.createCompilerHost(options);
  host.fileExists = (path) => path === PROGRAM || ts.sys.fileExists(path);
  host.readFile = (path) => (path === PROGRAM ? DECLARATIONS + statements : ts.sys.readFile(path));
  host.getSourceFile = (path, target) => {
    const text = host.readFile(path);
    return text === undefined ? undefined : ts.createSourceFile(path, text, target);
  };
  const program = ts.createProgram([PROGRAM], options, host);
  const source = program.getSourceFile(PROGRAM);
  return ts
    .getPreEmitDiagnostics(program, source)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

describe('events that an application declares', () => {
  it('are completed and checked in `track()`, in `@Track` and in the option `events`', () => {
    const problems = problemsOf(`
        analytics.track({ userId: 'u1', event: 'Order Completed', properties: { total: 1, coupon: 'c' } });
        analytics.track({ userId: 'u1', event: 'Shop Opened' });
        // @ts-expect-error -- no such event
        analytics.track({ userId: 'u1', event: 'Order Complete', properties: { total: 1 } });
        // @ts-expect-error -- a total is a number
        analytics.track({ userId: 'u1', event: 'Order Completed', properties: { total: '1' } });
        // @ts-expect-error -- an order has a total
        analytics.track({ userId: 'u1', event: 'Order Completed', properties: {} });
        // @ts-expect-error -- an order has properties
        analytics.track({ userId: 'u1', event: 'Order Completed' });
        // @ts-expect-error -- an order has no door
        analytics.track({ userId: 'u1', event: 'Order Completed', properties: { total: 1, door: 'front' } });

        @Injectable()
        export class Shop {
          @Track('Shop Opened')
          @Track('Shop Opened', { properties: { door: 'front' } })
          @Track('Order Completed', { properties: ({ result }) => ({ total: result.sum }) })
          right() { return { sum: 1 }; }

          // @ts-expect-error -- no such event
          @Track('Shop Open')
          noSuchEvent() { return 1; }

          // @ts-expect-error -- an order has properties
          @Track('Order Completed')
          noProperties() { return 1; }

          // @ts-expect-error -- an order has properties
          @Track('Order Completed', { userId: 'u1' })
          noPropertiesButOptions() { return 1; }

          // @ts-expect-error -- a total is a number
          @Track('Order Completed', { properties: ({ result }) => ({ total: result.sum }) })
          wrongProperties() { return { sum: '1' }; }
        }

        export const OPTIONS: AnalyticsModuleOptions = { events: { 'Shop Opened': schema } };
        // @ts-expect-error -- no such event
        export const WRONG: AnalyticsModuleOptions = { events: { 'Shop Open': schema } };

        analytics.track({ userId: 'u1', event: 'Order', properties: {} });
      `);
    expect(problems).toEqual([
      `Type '"Order"' is not assignable to type '"Order Completed" | "Shop Opened"'.`,
    ]);
  });
});
