import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Stage } from '../support/stage.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const ACME = { tenant: 'acme', urls: ['https://hooks.example.com/acme'] };
const INSERT = /INSERT INTO nestjs_analytics\.destination_tenant/;
const REPLACE = /UPDATE nestjs_analytics\.destination SET version/;
const REMOVE = /UPDATE nestjs_analytics\.destination SET record = ''/;
/** Matches nothing of an answer, once it says that a row was found. */
const BEFORE_ROW = /^(?=[^]*SELECT 1\0)/;

describeWith('postgres', PostgresServer.installed, 'a destination whose change PostgreSQL has made', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let proxy: TcpProxy;
  let destinations: DestinationsService;
  let changes: string[];

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());
  beforeEach(async () => {
    proxy = await stage.add(TcpProxy.start(server));
    const app = await stage.app({
      connection: proxy.through(await server.createDatabase()),
      worker: false,
      destinations: { encryptionKey: false, limitPerTenant: 1 },
    });
    destinations = app.context.get(DestinationsService);
    // Creates the tables.
    await destinations.list();
    changes = [];
    destinations.changes$.subscribe(({ type }) => changes.push(type));
  });

  it('counts as added although the connection broke before the answer', async () => {
    const broken = proxy.breakWithin(INSERT, BEFORE_ROW);
    const { id } = await destinations.create(ACME);
    await broken;
    expect((await destinations.list()).destinations).toMatchObject([{ id }]);
    expect(changes).toEqual(['created']);
  });

  it('counts as updated although the connection broke before the answer', async () => {
    const { id } = await destinations.create(ACME);
    const broken = proxy.breakWithin(REPLACE, BEFORE_ROW);
    const updated = await destinations.update(id, { name: 'New' }, { version: 1 });
    await broken;
    expect(updated).toMatchObject({ name: 'New', version: 2 });
    expect(changes).toEqual(['created', 'updated']);
  });

  it('counts as deleted although the connection broke before the answer', async () => {
    const { id } = await destinations.create(ACME);
    const broken = proxy.breakWithin(REMOVE, BEFORE_ROW);
    await destinations.delete(id);
    await broken;
    expect(changes).toEqual(['created', 'deleted']);
  });
});
