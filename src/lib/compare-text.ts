/** For a sort by UTF-16 code units, whatever the machine's language. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
