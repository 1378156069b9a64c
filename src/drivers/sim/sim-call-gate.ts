import { RuntimeError } from "../../model/runtime-error.ts";

/** May delay a call, or fail it by throwing: before its work is done, or after it, when only the answer is lost. */
export type SimInterceptor = (
  method: string,
  phase: "before" | "after",
  signal: AbortSignal,
) => Promise<void> | void;

/** What an interceptor throws where the call fails for its caller, and the work is done all the same, only later. */
export class OutlivedCall extends Error {
  override readonly name = "OutlivedCall";
  /** The error that the caller gets. */
  readonly answer: Error;
  /** Resolves when the work is done. */
  readonly turn: Promise<void>;

  constructor(answer: Error, turn: Promise<void>) {
    super(answer.message);
    this.answer = answer;
    this.turn = turn;
  }
}

/** A name that a call holds from its beginning, and gives back when it fails. */
export interface SimReservation {
  /** Throws when the name is taken. */
  readonly take: () => void;
  readonly release: () => void;
}

const nothing: SimReservation = { take: () => undefined, release: () => undefined };

/** What every simulated call passes through: cancelling, and whatever the test wants to go wrong. */
export class SimCallGate {
  intercept: SimInterceptor = () => undefined;

  async call<T>(
    method: string,
    signal: AbortSignal,
    work: () => T | Promise<T>,
    reservation: SimReservation = nothing,
  ): Promise<T> {
    if (signal.aborted) throw cancelled(method);
    reservation.take();
    const answer = await this.#carryOut(method, signal, work, reservation);
    const delayed = this.intercept(method, "after", signal);
    if (delayed !== undefined) await delayed;
    return answer;
  }

  async #carryOut<T>(
    method: string,
    signal: AbortSignal,
    work: () => T | Promise<T>,
    { release }: SimReservation,
  ): Promise<T> {
    try {
      const delayed = this.intercept(method, "before", signal);
      if (delayed !== undefined) await delayed;
      if (signal.aborted) throw cancelled(method);
      return await work();
    } catch (error) {
      if (!(error instanceof OutlivedCall)) {
        release();
        throw error;
      }
      error.turn.then(work).catch(release);
      throw error.answer;
    }
  }
}

export function cancelled(method: string): RuntimeError {
  return new RuntimeError(method, "Cancelled", "context canceled");
}

export function notFound(method: string, what: string, id: string): RuntimeError {
  const message = `an error occurred when try to find ${what} "${id}": not found`;
  return new RuntimeError(method, "NotFound", message);
}
