/**
 * The first value of a header of a response.
 *
 * @param name in lower case
 * @param headers names and values in turn, as they came
 */
export function responseHeader(name: string, headers: readonly Buffer[]): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    const [key, value] = [headers[index], headers[index + 1]];
    // Most names are told apart by their length alone.
    if (key?.length !== name.length) continue;
    if (key.toString('latin1').toLowerCase() === name) return value?.toString('latin1');
  }
  return undefined;
}
