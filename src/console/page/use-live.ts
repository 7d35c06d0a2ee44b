import { useEffect, useRef, useState } from 'preact/hooks';
import type { LiveEvent } from '../../live/live-event.js';
import type { Api } from './api.js';
import { searchedIn } from './searched-text.js';
import { type Connection, StreamClient } from './stream-client.js';

/** Maximum number of calls on the page. Older calls are removed. */
const MOST = 1_000;
/** How often the page is drawn while calls arrive, in milliseconds. */
const INTERVAL = 200;

/** A call with a key of its own. */
export interface ShownCall extends LiveEvent {
  key: number;
  /** Text that the text filter searches. Made once, since the list is drawn five times a second. */
  searched: string;
}

/** The state of a page that watches calls. */
export interface Live {
  /** The latest call first. */
  calls: readonly ShownCall[];
  /** Number of calls since the page was paused. */
  held: number;
  /** Number of calls that were too many to be sent, or to be kept while the page was paused. */
  missed: number;
  connection: Connection;
  isPaused: boolean;
  setPaused: (isPaused: boolean) => void;
  clear: () => void;
}

/** Watches calls for as long as the component is shown. */
export function useLive(api: Api): Live {
  const [shown, setShown] = useState<{ calls: readonly ShownCall[]; missed: number }>(EMPTY);
  const [held, setHeld] = useState(0);
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' });
  const [isPaused, setPaused] = useState(false);
  /** Calls that have arrived and are not shown yet, the latest first. */
  const arrived = useRef<{ calls: ShownCall[]; missed: number; last: number }>({
    calls: [],
    missed: 0,
    last: 0,
  });

  useEffect(() => {
    const abort = new AbortController();
    const { current } = arrived;
    const take = (call: LiveEvent): void => {
      current.calls.unshift({ ...call, key: ++current.last, searched: searchedIn(call) });
      current.missed += Math.max(0, current.calls.length - MOST);
      current.calls.length = Math.min(current.calls.length, MOST);
    };
    const client = new StreamClient((id, signal) => api.live(id, signal), {
      onEvent: (name, data) => {
        if (name === 'call') take(data as LiveEvent);
        if (name === 'missed') current.missed += (data as { count: number }).count;
      },
      onConnection: setConnection,
    });
    void client.run(abort.signal);
    return () => {
      abort.abort();
    };
  }, [api]);

  useEffect(() => {
    const draw = (): void => {
      const { current } = arrived;
      setHeld(isPaused ? current.calls.length + current.missed : 0);
      if (isPaused || (current.calls.length === 0 && current.missed === 0)) return;
      const { calls, missed } = current;
      current.calls = [];
      current.missed = 0;
      setShown((before) => ({
        calls: [...calls, ...before.calls].slice(0, MOST),
        missed: before.missed + missed,
      }));
    };
    draw();
    const timer = setInterval(draw, INTERVAL);
    return () => {
      clearInterval(timer);
    };
  }, [isPaused]);

  const clear = (): void => {
    setShown(EMPTY);
  };
  return { ...shown, held, connection, isPaused, setPaused, clear };
}

const EMPTY = { calls: [], missed: 0 };
