import { describe, expect, it } from '@jest/globals';
import { DnsServer } from '../../support/dns-server.js';
import { GuardedChild, scriptArguments } from '../../support/child-process.js';
import { Stage } from '../../support/stage.js';

const CHILD = new URL('./children/without-handles.ts', import.meta.url);

describe('a process without a file handle left', () => {
  const stage = new Stage();

  it.each(['127.0.0.1', 'hooks.test'])(
    'reports this, and does not count the URL at %s as down, which gets the message once a handle is free',
    async (host) => {
      const receiver = await stage.receiver();
      const dns = await stage.add(DnsServer.start(({ type }) => (type === 'A' ? ['127.0.0.1'] : [])));
      const command = 'ulimit -n 256 && exec "$0" "$@"';
      const args = [...scriptArguments(CHILD), `http://${host}:${receiver.port}/`, dns.address];
      const child = await GuardedChild.start('/bin/sh', ['-c', command, process.execPath, ...args]);
      const said: unknown = JSON.parse(await child.waitFor(/^\[/));
      expect(said).toEqual([...Array<string>(8).fill('EMFILE'), '200']);
      expect(receiver.requests).toHaveLength(1);
      await child.exited;
    },
  );
});
