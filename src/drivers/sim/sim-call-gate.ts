import { RuntimeError } from "../../model/runtime-error.ts";

/** May delay a call, or fail it by throwing: before its work is done, or after it, when only the answer is lost. */
export type SimInterceptor = (
  method: string,
  phase: "before" | "after",
  signal: AbortSignal,
) => Promise<void> | void;

/** What every simulated call passes through: cancelling, and whatever the test wants to go wrong. */
export class SimCallGate {
  intercept: SimInterceptor = () => undefined;

  async call<T>(method: string, signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
    if (signal.aborted) throw cancelled(method);
    await this.intercept(method, "before", signal);
    if (signal.aborted) throw cancelled(method);
    const answer = await work();
    await this.intercept(method, "after", signal);
    return answer;
  }
}

export function cancelled(method: string): RuntimeError {
  return new RuntimeError(method, "Cancelled", "context canceled");
}

export function notFound(method: string, what: string, id: string): RuntimeError {
  const message = `an error occurred when try to find ${what} "${id}": not found`;
  return new RuntimeError(method, "NotFound", message);
}

/** As containerd refuses a name that is taken, also while its holder is still being made. */
export function nameReserved(
  method: string,
  what: "sandbox" | "container",
  name: string,
  holderId: string,
): RuntimeError {
  const message = `failed to reserve ${what} name "${name}": name "${name}" is reserved for "${holderId}"`;
  return new RuntimeError(method, "Unknown", message);
}
