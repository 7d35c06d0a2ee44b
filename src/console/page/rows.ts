import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';

/** Number of rows whose median height is taken, since some may be open. */
const SAMPLE = 9;

/**
 * Returns the loaded rows in the order in which they are shown. New rows come first. Rows that are already shown keep
 * their order, so that nothing moves while somebody reads.
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
 * Gives rows that were never drawn the height of the first rows, which take two lines in a narrow window. Otherwise,
 * drawing the last rows would move the end of the list, and the button there, away from a reader who scrolls to it.
 *
 * @returns a ref for the element that holds the rows
 */
export function useRowHeight<E extends HTMLElement>(): RefObject<E | null> {
  const list = useRef<E>(null);
  useEffect(() => {
    const element = list.current;
    if (element === null) return;
    let frame = 0;
    const observer = new ResizeObserver(() => {
      cancelAnimationFrame(frame);
      // Delayed, since it changes the height that is observed.
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
