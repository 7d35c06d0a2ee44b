import { useMemo, useRef } from 'preact/hooks';

/**
 * The rows that were loaded, in the order in which they are shown: those that are shown already stay where they
 * are, so that nothing moves while somebody reads it, and new ones come first.
 */
export function useRowsInPlace<T extends object>(
  loaded: readonly T[] | undefined,
  idOf: (row: T) => string,
): readonly T[] {
  const shown = useRef<readonly string[]>([]);
  return useMemo(() => {
    const known = new Map((loaded ?? []).map((row) => [idOf(row), row]));
    const stay = shown.current.flatMap((id) => known.get(id) ?? []);
    const stayed = new Set(stay);
    const rows = [...[...known.values()].filter((row) => !stayed.has(row)), ...stay];
    shown.current = rows.map(idOf);
    return rows;
  }, [loaded]);
}

/** A first page that was loaded again, and the rows behind it that are shown already. */
export function withFirstPage<T>(
  shown: readonly T[],
  page: readonly T[],
  limit: number,
  idOf: (row: T) => string,
): T[] {
  if (page.length < limit) return [...page];
  const ids = new Set(page.map(idOf));
  const last = shown.findLastIndex((row) => ids.has(idOf(row)));
  return [...page, ...shown.slice(last + 1)];
}
