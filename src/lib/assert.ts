/** Stops the process' current task on a state that the code holds to be impossible. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`impossible state: ${message}`);
}

/** Makes a switch over a union exhaustive at compile time. */
export function assertNever(value: never): never {
  throw new Error(`impossible state: unexpected ${JSON.stringify(value)}`);
}
