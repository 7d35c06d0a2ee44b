import { useEffect, useState } from 'preact/hooks';
import type { Api } from './api.js';
import { type Connection, StreamClient } from './stream-client.js';

/** What a page is told of changes. */
export interface Changes {
  /** Another number whenever what the page shows may have changed. */
  version: number;
  connection: Connection;
}

/**
 * Is told of changes while the page can be seen.
 *
 * @param destination what the page shows; `undefined` for the overview
 */
export function useChanges(api: Api, destination?: string): Changes {
  const [version, setVersion] = useState(0);
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' });
  useEffect(() => {
    let abort = new AbortController();
    const follow = (): void => {
      abort.abort();
      if (document.hidden) return;
      abort = new AbortController();
      const client = new StreamClient((_, signal) => api.changes(destination, signal), {
        // With a new connection as well: something may have changed before.
        onEvent: () => {
          setVersion((before) => before + 1);
        },
        onConnection: setConnection,
      });
      void client.run(abort.signal);
    };
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      abort.abort();
    };
  }, [api, destination]);
  return { version, connection };
}
