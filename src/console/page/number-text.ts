const FORMAT = new Intl.NumberFormat('en');

/** A number to be read: `1,234`. */
export function numberText(value: number): string {
  return FORMAT.format(value);
}
