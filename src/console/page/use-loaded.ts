import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError } from './api-requests.js';
import { LoadTurns } from './load-turns.js';

/** Error codes of refusals that end by themselves. A renewal does not show them, and is tried again. */
const REFUSALS: readonly string[] = ['TOO_MANY_REQUESTS', 'RATE_LIMITED'];

/** A value that is loaded, and what went wrong. */
export interface Loaded<T> {
  value: T | undefined;
  error: Error | undefined;
  /**
   * Loads the value again, and shows the known value meanwhile. The function is the same for every `key`, so that work
   * which began with another key renews what is shown now.
   */
  reload: () => Promise<void>;
}

/** Whether loading has ended, with a value or an error. */
export function hasLoaded({ value, error }: Loaded<unknown>): boolean {
  return value !== undefined || error !== undefined;
}

/** When a value is loaded again by itself. The known value is shown meanwhile. */
export interface Renewal<T> {
  /** The value is loaded again whenever this changes; `undefined` while it is not known. */
  version: number | string | undefined;
  /** Loads the value again, if that differs from the first time. @param shown the value that is known */
  renew?: (shown: T, signal: AbortSignal) => Promise<T>;
}

interface LoadedState<T> {
  key: string;
  value?: T | undefined;
  error?: Error;
}

/**
 * @param load its signal aborts when nobody waits for the value any more
 * @param key names what is loaded: with another key, it is loaded anew
 */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  key: string,
  renewal: Renewal<T> = { version: undefined },
): Loaded<T> {
  const [state, setState] = useState<LoadedState<T>>({ key });
  const isCurrent = state.key === key;
  const value = isCurrent ? state.value : undefined;
  const latest = useRef({ load, renewal, value });
  latest.current = { load, renewal, value };

  const turns = useMemo(() => {
    const show = (signal: AbortSignal, loaded: T): void => {
      if (!signal.aborted) setState({ key, value: loaded });
    };
    const showError = (signal: AbortSignal, error: Error): void => {
      if (signal.aborted) return;
      setState((before) => ({ key, value: before.key === key ? before.value : undefined, error }));
    };
    return {
      load: async (signal: AbortSignal): Promise<void> => {
        try {
          show(signal, await latest.current.load(signal));
        } catch (error) {
          showError(signal, error as Error);
        }
      },
      of: new LoadTurns(async (signal) => {
        const {
          load: first,
          renewal: { renew },
          value: shown,
        } = latest.current;
        try {
          const isFirst = shown === undefined || renew === undefined;
          show(signal, await (isFirst ? first(signal) : renew(shown, signal)));
        } catch (error) {
          if (error instanceof ApiError && REFUSALS.includes(error.code)) return true;
          showError(signal, error as Error);
        }
        return false;
      }),
    };
  }, [key]);
  const present = useRef(turns);
  present.current = turns;
  const reload = useCallback(() => present.current.of.load(present.current.load), []);
  useEffect(() => {
    void turns.of.load(turns.load);
    return () => {
      turns.of.close();
    };
  }, [turns]);

  const { version } = renewal;
  const known = useRef(version);
  useEffect(() => {
    const before = known.current;
    known.current = version;
    if (before !== undefined && before !== version) turns.of.renewSoon();
  }, [version]);
  return { value, error: isCurrent ? state.error : undefined, reload };
}
