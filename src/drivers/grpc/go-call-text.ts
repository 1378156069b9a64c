import { RuntimeError } from "../../model/runtime-error.ts";

const dialProblems: ReadonlyMap<unknown, string> = new Map([
  ["ENOENT", "no such file or directory"],
  ["ECONNREFUSED", "connection refused"],
  ["EACCES", "permission denied"],
]);

/** What a gRPC client of Go prints for the failure of a call: users search for that, above all when a plugin is away. */
export function goCallText(socketPath: string, { code, message, cause }: RuntimeError): string {
  if (code !== "Unavailable" || !(cause instanceof Error)) return message;
  const problem = "code" in cause ? dialProblems.get(cause.code) : undefined;
  if (problem === undefined) return "error reading from server: EOF";
  const dial = `dial unix ${socketPath}: connect: ${problem}`;
  return `connection error: desc = "transport: Error while dialing: ${dial}"`;
}

/** What a call of a plugin comes to; a failure has the text that a client of Go prints. */
export async function withGoText<T>(socketPath: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    const { method, code, cause } = error;
    throw new RuntimeError(method, code, goCallText(socketPath, error), { cause });
  }
}
