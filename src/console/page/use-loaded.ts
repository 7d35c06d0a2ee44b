import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** Something that is loaded, with what went wrong. */
export interface Loaded<T> {
  value: T | undefined;
  error: Error | undefined;
  /** Loads it again, and shows what is known meanwhile. */
  reload: () => Promise<void>;
}

/** Whether it is known, or known to be out of reach. */
export function hasLoaded({ value, error }: Loaded<unknown>): boolean {
  return value !== undefined || error !== undefined;
}

/** When something is loaded again by itself. What is known is shown meanwhile. */
export interface Renewal<T> {
  /** With each other one it is; `undefined` while that is not known. */
  version: number | string | undefined;
  /** How, where that differs from the first time. @param shown what is known */
  renew?: (shown: T) => Promise<T>;
}

/** @param key what it depends on */
export function useLoaded<T>(load: () => Promise<T>, key: string, renewal?: Renewal<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; value?: T | undefined; error?: Error }>({ key });
  const isCurrent = state.key === key;
  const value = isCurrent ? state.value : undefined;
  const { current: numbers } = useRef({ asked: 0, answered: 0 });
  const take = useCallback(
    async (answer: Promise<T>) => {
      const number = ++numbers.asked;
      try {
        const loaded = await answer;
        // One that was asked for later is here already.
        if (number < numbers.answered) return;
        numbers.answered = number;
        setState({ key, value: loaded });
      } catch (error) {
        if (number < numbers.answered) return;
        numbers.answered = number;
        setState((before) => ({
          key,
          value: before.key === key ? before.value : undefined,
          error: error as Error,
        }));
      }
    },
    [key, numbers],
  );
  const reload = useCallback(() => take(load()), [take]);
  useEffect(() => {
    void reload();
  }, [reload]);

  const { version, renew } = renewal ?? {};
  const known = useRef(version);
  useEffect(() => {
    const before = known.current;
    known.current = version;
    if (before === undefined || before === version) return;
    void take(value === undefined || renew === undefined ? load() : renew(value));
  }, [version]);
  return { value, error: isCurrent ? state.error : undefined, reload };
}
