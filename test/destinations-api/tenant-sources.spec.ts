import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { DestinationsService, type SourceOptions } from '../../src/index.js';
import type { ApiAnswer } from '../ingest/http/tracking-server.js';
import { quickConnections } from '../support/quick-connections.js';
import { eventsIn } from '../support/received-message.js';
import { Stage } from '../support/stage.js';
import { ApiServer, authorize, URLS } from './api-server.js';

const SOURCES: SourceOptions[] = [
  { name: 'web', writeKey: 'wk_web' },
  { name: 'acme-server', writeKey: 'wk_acme', tenant: 'acme' },
  { name: 'globex-server', writeKey: 'wk_globex', tenant: 'globex' },
  { name: 'initech-pilot', writeKey: 'wk_initech', tenant: 'initech' },
];
const ANOTHERS = ['globex-server', 'initech-pilot'];

describe('the sources of a destination', () => {
  const stage = new Stage();
  const newConnection = quickConnections();

  const start = async (sources = SOURCES): Promise<ApiServer> =>
    stage.add(ApiServer.start({ platform: 'Express', connection: await newConnection(), sources }));

  it('are those of its tenant and those that are bound to no tenant', async () => {
    const { acme, operator } = await start();
    const id = await acme.create({ sources: ['web', 'acme-server'] });
    expect(await acme.ok(acme.patch(`/${id}`, { sources: ['acme-server'] }))).toMatchObject({ version: 2 });
    await operator.create({ tenant: 'globex', sources: ['globex-server'] });
    await operator.create({ sources: SOURCES.map(({ name }) => name) });
  });

  it('are refused if they belong to another tenant, as if they did not exist, and no names are told', async () => {
    const { acme, operator, server } = await start();
    const id = await acme.create();
    const service = server.app.get(DestinationsService);
    const thrown = (source: string): Promise<unknown> =>
      service.create({ tenant: 'acme', urls: URLS, sources: [source] }).then(
        () => 'created',
        (error: unknown) => (error instanceof Error ? error.message : error),
      );
    const answered = async (asked: Promise<ApiAnswer>): Promise<unknown> => {
      const { status, body } = await asked;
      return { status, body };
    };
    const askFor = async (source: string): Promise<string> =>
      JSON.stringify([
        await answered(acme.post('', { urls: URLS, sources: [source] })),
        await answered(acme.patch(`/${id}`, { sources: [source] })),
        await answered(operator.patch(`/${id}`, { sources: [source] })),
        await thrown(source),
      ]);

    const unknown = await askFor('nowhere');
    expect(unknown.match(/"status":422/g)).toHaveLength(3);
    expect(unknown).toContain('expected names of sources that are not bound to another tenant');
    for (const { name } of SOURCES) expect(unknown).not.toContain(name);
    for (const source of ANOTHERS) {
      expect((await askFor(source)).replaceAll(source, 'nowhere')).toBe(unknown);
    }
  });

  it('are listed to the operator if the destination has no tenant', async () => {
    const { operator } = await start();
    const { body } = await operator.post('', { urls: URLS, sources: ['nowhere'] });
    expect(JSON.stringify(body)).toContain('(web, acme-server, globex-server, initech-pilot)');
  });

  it('stay as they are when one of them is bound to another tenant later', async () => {
    const connection = await newConnection();
    const destinations = {
      encryptionKey: randomBytes(32).toString('hex'),
      api: { authorize },
    };
    const restart = (sources: SourceOptions[]): Promise<ApiServer> =>
      ApiServer.start({ platform: 'Express', connection, sources }, destinations);
    const receiver = await stage.receiver();
    const sources = ['web', 'globex-server'];
    const before = await restart(SOURCES.map(({ name, writeKey }) => ({ name, writeKey })));
    const id = await before.acme.create({ urls: [receiver.url()], sources });
    await before.close();

    const { acme, server } = await stage.add(restart(SOURCES));
    server.analytics.source('globex-server').tenant('acme').track({ userId: 'u1', event: 'still wanted' });
    await receiver.received(1);
    expect(eventsIn(receiver.requests)).toEqual(['still wanted']);
    // As a form sends it that has all fields.
    const update = { name: 'Ours', sources };
    expect(await acme.ok(acme.patch(`/${id}`, update))).toMatchObject(update);
    expect(await acme.patch(`/${id}`, { sources: ['initech-pilot'] })).toMatchObject({ status: 422 });
  });
});
