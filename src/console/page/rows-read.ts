/** Returns the ids of the rows that somebody reads: they are in sight, open or selected, or have the focus. */
export function rowsRead(list: HTMLElement | null): ReadonlySet<string> {
  const rows = [...(list?.querySelectorAll<HTMLElement>('[data-id]') ?? [])];
  return new Set(rows.filter((row) => isInUse(row) || isInSight(row)).map(({ dataset }) => dataset.id ?? ''));
}

function isInUse(row: HTMLElement): boolean {
  return row.contains(document.activeElement) || row.querySelector('details[open], :checked') !== null;
}

function isInSight(row: HTMLElement): boolean {
  const { top, bottom } = row.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
