/** Characters that a terminal obeys, or that change how the rest of a line is read. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns a text from outside as it may stand in a log line: as in JSON, with all control characters escaped. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(CONTROLS, (character) =>
    // A few of these characters have two UTF-16 units.
    Array.from({ length: character.length }, (_, index) => escaped(character.charCodeAt(index))).join(''),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
