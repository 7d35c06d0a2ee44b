/**
 * Returns the known name that a misspelt name most likely means: the name with the fewest edits, at most one per three
 * characters. Case is ignored.
 */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  const from = name.toLowerCase();
  let closest: string | undefined;
  let fewest = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const to = candidate.toLowerCase();
    // Anybody may send a name of any length, and counting edits takes long.
    if (Math.abs(from.length - to.length) >= fewest) continue;
    const edits = editsBetween(from, to);
    if (edits < fewest) [closest, fewest] = [candidate, edits];
  }
  return closest;
}

/** Returns how many characters have to be inserted, removed or replaced to turn one text into the other. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index++) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (from[index] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
