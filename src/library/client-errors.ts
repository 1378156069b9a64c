import { CliError, exitCodes } from "../cli/exit.ts";
import { errorText } from "../lib/error-text.ts";
import { BerthError, type BerthErrorCode } from "./berth-error.ts";

/** Does what asks the node, and turns what goes wrong into the library's own errors; an abort into the signal's reason. */
export async function asked<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw libraryError(error, signal);
  }
}

export function libraryError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (error instanceof BerthError) return error;
  return new BerthError(codeOf(error), errorText(error), { cause: error });
}

function codeOf(error: unknown): BerthErrorCode {
  if (!(error instanceof CliError)) return "failed";
  if (error.exitCode === exitCodes.agentUnreachable) return "node-ended";
  return error.exitCode === exitCodes.notFound ? "not-found" : "failed";
}
