import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';

/** Rows whose height is looked at: some may be open. */
const SAMPLE = 9;

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

/**
 * Lets rows that were never drawn count as high as the first ones, which take two lines in a narrow window: the end
 * of a list, and the button there, would move away from whoever goes there as the last rows are drawn.
 *
 * @returns for the element that holds the rows
 */
export function useRowHeight<E extends HTMLElement>(): RefObject<E | null> {
  const list = useRef<E>(null);
  useEffect(() => {
    const element = list.current;
    if (element === null) return;
    let frame = 0;
    const observer = new ResizeObserver(() => {
      cancelAnimationFrame(frame);
      // Not at once: it changes the height that is observed.
      frame = requestAnimationFrame(() => {
        const height = medianHeight(element);
        if (height !== undefined) element.style.setProperty('--row-height', `${height}px`);
      });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);
  return list;
}

function medianHeight(list: HTMLElement): number | undefined {
  const rows = [...list.querySelectorAll('.row')].slice(0, SAMPLE);
  const heights = rows.map((row) => row.getBoundingClientRect().height).sort((a, b) => a - b);
  return heights[Math.floor(heights.length / 2)];
}
