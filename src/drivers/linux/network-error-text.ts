import { LookupError } from "./pod-names.ts";

const dialErrors: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "connect: connection refused"],
  ["EHOSTUNREACH", "connect: no route to host"],
  ["ENETUNREACH", "connect: network is unreachable"],
  ["EADDRNOTAVAIL", "connect: cannot assign requested address"],
  ["EACCES", "connect: permission denied"],
  ["EPERM", "connect: operation not permitted"],
  ["ECONNABORTED", "connect: software caused connection abort"],
  ["ETIMEDOUT", "connect: connection timed out"],
]);

/** A failed connection in the words of a kubelet, as users know them from events. */
export function networkErrorText(error: unknown, address: string): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof LookupError) return `dial tcp: ${error.message}`;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const dialError = dialErrors.get(code);
  if (dialError !== undefined) return `dial tcp ${address}: ${dialError}`;
  if (code === "ECONNRESET") {
    return error.message === "socket hang up" ? "EOF" : "read: connection reset by peer";
  }
  if (code === "EPROTO") return "http: server gave HTTP response to HTTPS client";
  if (code.startsWith("HPE_"))
    return "net/http: HTTP/1.x transport connection broken: malformed HTTP response";
  return error.message;
}
