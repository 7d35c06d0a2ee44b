/** Id of the destination that forwards the messages of a source. */
export function forwardingId(source: string): string {
  return `endpoint/${source}`;
}
