import { err, ok, type Result } from "../lib/result.ts";

// What fits into a unix socket address on Linux, without its closing zero.
const MAX_SOCKET_PATH_BYTES = 107;

/** The socket path of a runtime endpoint, given as `unix:///path` or as a bare absolute path. */
export function parseRuntimeEndpoint(endpoint: string): Result<string, string> {
  const path = socketPath(endpoint);
  if (path === undefined) {
    return err(
      `runtime endpoint ${JSON.stringify(endpoint)} is not a unix socket: use unix:///path/to/runtime.sock`,
    );
  }
  const tooLong = socketPathProblem(path);
  return tooLong === undefined ? ok(path) : err(tooLong);
}

/** Why no unix socket can have this path; undefined when one can. */
export function socketPathProblem(path: string): string | undefined {
  const bytes = new TextEncoder().encode(path).length;
  if (bytes <= MAX_SOCKET_PATH_BYTES) return undefined;
  return `socket path ${path} has ${bytes} bytes, Linux allows ${MAX_SOCKET_PATH_BYTES}: use a shorter folder`;
}

function socketPath(endpoint: string): string | undefined {
  const path = endpoint.startsWith("unix://") ? endpoint.slice("unix://".length) : endpoint;
  return path.startsWith("/") && !path.endsWith("/") && !path.includes("\0") ? path : undefined;
}
