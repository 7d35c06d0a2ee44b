/** A number of things, as a text names it: `1 message`, `2 messages`. */
export function countOf(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}
