import { useEffect, useState } from 'preact/hooks';

/** Counts up while the page is visible. @param interval milliseconds between two counts; `undefined` not to count */
export function useTicks(interval: number | undefined): number {
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    if (interval === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden) setTicks((before) => before + 1);
    }, interval);
    return () => {
      clearInterval(timer);
    };
  }, [interval]);
  return ticks;
}
