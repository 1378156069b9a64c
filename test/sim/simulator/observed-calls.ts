import { withMethods } from "./with-methods.ts";

/** A call of the simulated runtime that is about to be made. */
export interface ObservedCall {
  readonly method: string;
  readonly args: readonly unknown[];
}

/** The same object, with every call announced before it is made. */
export function observed<T extends object>(target: T, onCall: (call: ObservedCall) => void): T {
  return withMethods(target, (method, call) => (...args) => {
    onCall({ method, args });
    return call(...args);
  });
}
