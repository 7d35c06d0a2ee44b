import { useEffect, useState } from 'preact/hooks';
import type { Api } from './api.js';
import { type Connection, StreamClient } from './stream-client.js';

/** What a page knows of changes. */
export interface Changes {
  /** Changes whenever the data that the page shows may have changed. */
  version: number;
  connection: Connection;
}

/**
 * Watches for changes while the page is visible.
 *
 * @param destination id of the destination that the page shows; `undefined` for the overview
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
        // Also called for `ready`: something may have changed before the connection.
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
