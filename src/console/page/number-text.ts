const FORMAT = new Intl.NumberFormat('en');

/** Formats a number for a reader: `1,234`. */
export function numberText(value: number): string {
  return FORMAT.format(value);
}
