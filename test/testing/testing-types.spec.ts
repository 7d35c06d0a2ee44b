import { describe, expect, it } from '@jest/globals';
import { problemsOf } from '../support/compile.js';

const DECLARED = `
  import 'nestjs-analytics';
  import { RecordedAnalytics } from 'nestjs-analytics/testing';
  declare module 'nestjs-analytics' {
    interface AnalyticsEvents {
      'Order Completed': { total: number; at: Date; tags: Set<string>; coupon?: string };
      'Order Shipped': { parcel: { toJSON(): { sentAt: Date } } };
      'Shop Opened': object;
    }
  }
  declare const recorded: RecordedAnalytics;
`;
const JEST = "import { expect } from '@jest/globals';";

describe('a recorded event', () => {
  it('is typed by the declared events, as it is sent', () => {
    expect(
      problemsOf(`${DECLARED}
        export const totals: number[] = recorded.tracked('Order Completed').map(({ properties }) => properties.total);
        export const dates: string[] = recorded.tracked('Order Completed').map(({ properties }) => properties.at);
        export const tags: string[][] = recorded.tracked('Order Completed').map(({ properties }) => properties.tags);
        const shipped = recorded.tracked('Order Shipped').map(({ properties }) => properties.parcel.sentAt);
        export const shippedAt: string[] = shipped;
        export const later: Promise<number> = recorded.waitFor('Order Completed').then((one) => one.properties.total);
        for (const message of recorded.messages) {
          if (message.type === 'identify') message.traits;
          if (message.type === 'track' && message.event === 'Order Completed') message.properties.total.toFixed();
        }`),
    ).toEqual([]);
    const wrong = `${DECLARED} recorded.tracked('Order Complete'); recorded.waitFor('Order Complete');`;
    expect(problemsOf(wrong)).toHaveLength(2);
  });

  it('may be any event with any properties while no event is declared', () => {
    expect(
      problemsOf(`
        import { RecordedAnalytics } from 'nestjs-analytics/testing';
        declare const recorded: RecordedAnalytics;
        export const total: unknown = recorded.tracked('Anything')[0]?.properties.total;`),
    ).toEqual([]);
  });
});

describe.each([
  ['of @jest/globals', JEST, {}],
  ['of @types/jest', '', { types: ['node', 'jest'] }],
])('the matchers on the `expect` %s', (_, imported, options) => {
  it('are typed by the declared events', () => {
    const problems = problemsOf(
      `${imported} ${DECLARED}
      expect(recorded).toHaveTracked('Order Completed', { total: 9, at: new Date() });
      expect(recorded).toHaveTracked('Order Completed', { total: expect.any(Number), at: '2026-11-21' });
      expect(recorded).not.toHaveTracked('Shop Opened');
      expect(recorded).toHaveIdentified('u1', { plan: 'pro' });`,
      options,
    );
    expect(problems).toEqual([]);
  });

  it('refuse other events, properties and ids', () => {
    const problems = problemsOf(
      `${imported} ${DECLARED}
      expect(recorded).toHaveTracked('Order Complete');
      expect(recorded).toHaveTracked('Order Completed', { total: 'nine' });
      expect(recorded).toHaveTracked('Order Completed', { totl: 9 });
      expect(recorded).toHaveIdentified(7);`,
      options,
    );
    expect(problems).toHaveLength(4);
  });
});
