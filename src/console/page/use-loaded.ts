import { useCallback, useEffect, useState } from 'preact/hooks';

/** Something that is loaded, with what went wrong. */
export interface Loaded<T> {
  value: T | undefined;
  error: Error | undefined;
  /** Loads it again, and shows what is known meanwhile. */
  reload: () => Promise<void>;
}

/** @param key what it depends on */
export function useLoaded<T>(load: () => Promise<T>, key: string): Loaded<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: Error }>({ key });
  const reload = useCallback(async () => {
    try {
      setState({ key, value: await load() });
    } catch (error) {
      setState((before) => ({ ...before, key, error: error as Error }));
    }
  }, [key]);
  useEffect(() => {
    void reload();
  }, [reload]);
  const isCurrent = state.key === key;
  return { value: isCurrent ? state.value : undefined, error: isCurrent ? state.error : undefined, reload };
}
