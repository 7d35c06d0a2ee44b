import { afterEach, describe, expect, it } from '@jest/globals';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';

const newConnection = quickConnections();

const MISSPELT = { userId: 'u1', event: 'A', propertys: { revenue: 1 } };

describe('a field that a call does not have', () => {
  const stage = new Stage();
  const environment = process.env.NODE_ENV;
  afterEach(() => {
    process.env.NODE_ENV = environment;
  });

  it.each([
    ['is told once while the application is written', 'development', 1],
    ['is not looked for in production', 'production', 0],
  ])('%s', async (_, nodeEnv, count) => {
    process.env.NODE_ENV = nodeEnv;
    const app = await stage.app({ connection: await newConnection() });
    for (let n = 0; n < 3; n++) app.analytics.track(MISSPELT);
    const lines = app.log.analytics.filter((line) => line.includes('propertys'));
    expect(lines).toHaveLength(count);
    for (const line of lines) expect(line).toMatch(/^warn: `track\(\)` .* Did you mean `properties`\?$/);
  });
});
