import { describe, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';

const newConnection = quickConnections();

describe('the log lines about failing destinations of one tenant', () => {
  const stage = new Stage();

  it('are 25 at most within a minute, so that the failures of other tenants are logged as well', async () => {
    const receiver = await stage.receiver({ answer: () => 400 });
    const app = await stage.app({
      connection: await newConnection(),
      destinations: { allowPrivateNetwork: true, encryptionKey: false, limitPerTenant: 200 },
    });
    const destinations = app.context.get(DestinationsService);
    for (let n = 0; n < 24; n++) {
      const urls = [1, 2, 3, 4, 5].map((url) => receiver.url(`/${n}/${url}`));
      await destinations.create({ tenant: 'acme', urls });
    }
    const { id } = await destinations.create({ tenant: 'globex', urls: [receiver.url()] });
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
    await app.analytics.flush();
    await receiver.received(120);
    app.analytics.tenant('globex').track({ userId: 'u1', event: 'E' });
    await app.analytics.flush();
    await receiver.received(121);
    await app.close();
    const lines = app.log.analytics.filter((line) => / \(URL |left out/.test(line));
    expect(lines).toHaveLength(27);
    expect(lines[25]).toContain(`of the destination "${id}"`);
    expect(lines[26]).toMatch(
      /^warn: 95 more lines about URLs of destinations of the tenant "acme" were left out in the last minute/,
    );
  });
});
