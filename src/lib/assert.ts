/** The code holds this to be impossible. */
class ImpossibleStateError extends Error {
  override readonly name = "ImpossibleStateError";

  constructor(message: string) {
    super(`impossible state: ${message}`);
  }
}

/** Stops the process' current task on a state that the code holds to be impossible. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new ImpossibleStateError(message);
}

/** Makes a switch over a union exhaustive at compile time. */
export function assertNever(value: never): never {
  throw new ImpossibleStateError(`unexpected ${JSON.stringify(value)}`);
}

/** Whether an error is a bug in this program, not a failure of its environment. */
export function isProgrammingError(error: unknown): error is Error {
  return (
    error instanceof ImpossibleStateError ||
    error instanceof TypeError ||
    error instanceof RangeError ||
    error instanceof ReferenceError
  );
}
