/** Returns a number with its noun: `1 message`, `2 messages`. */
export function countOf(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}
