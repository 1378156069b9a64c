/** A call of the simulated runtime that is about to be made. */
export interface ObservedCall {
  readonly method: string;
  readonly args: readonly unknown[];
}

/** The same object, with every call told before it is made. */
export function observed<T extends object>(target: T, onCall: (call: ObservedCall) => void): T {
  return new Proxy(target, {
    get: (object, name) => {
      const value: unknown = Reflect.get(object, name, object);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        onCall({ method: String(name), args });
        return Reflect.apply(value, object, args);
      };
    },
  });
}
