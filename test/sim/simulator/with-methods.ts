/** The same object with each method wrapped. Unlike a Proxy it costs nothing at a call. */
export function withMethods<T extends object>(
  target: T,
  wrap: (name: string, method: (...args: unknown[]) => unknown) => (...args: unknown[]) => unknown,
): T {
  const wrapped: Record<string, unknown> = {};
  for (const name of methodNames(target)) {
    const method: unknown = Reflect.get(target, name, target);
    if (typeof method === "function") {
      wrapped[name] = wrap(name, (...args) => Reflect.apply(method, target, args));
    } else {
      Object.defineProperty(wrapped, name, { get: () => Reflect.get(target, name, target) });
    }
  }
  return wrapped as T;
}

function methodNames(target: object): ReadonlySet<string> {
  const names = new Set<string>();
  for (let at: object | null = target; at !== null; at = Reflect.getPrototypeOf(at)) {
    if (at === Object.prototype) break;
    for (const name of Object.getOwnPropertyNames(at)) if (name !== "constructor") names.add(name);
  }
  return names;
}
