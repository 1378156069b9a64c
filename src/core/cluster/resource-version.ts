/**
 * Whether a resource version is another one or an earlier one. The API server's versions are decimal numbers of any
 * size; what is not a number is not compared.
 */
export function isAtMost(version: string, other: string): boolean {
  if (!/^[0-9]+$/.test(version) || !/^[0-9]+$/.test(other)) return false;
  return BigInt(version) <= BigInt(other);
}
