/** The value of a map from outside: "__proto__" and "constructor" are keys like any other, and not there unless they are. */
export function ownValue<T>(
  map: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
