// What all servers on a port of the machine do alike.
import type { Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Duplex } from "node:stream";
import { errorText } from "../lib/error-text.ts";

export interface ListenAddress {
  readonly host: string;
  /** 0 = any that is free. */
  readonly port: number;
  /** The setting that a user can change, for refusals. */
  readonly setting: string;
}

/** A port cannot be listened on. */
export class ListenError extends Error {
  readonly address: ListenAddress;

  constructor(address: ListenAddress, cause: unknown) {
    super(`cannot listen on ${address.host} port ${address.port} (${errorText(cause)})`, { cause });
    this.address = address;
  }
}

/** Rejects with a ListenError. */
export function listenOn(server: Server | SecureServer, address: ListenAddress): Promise<void> {
  const { host, port } = address;
  return new Promise((resolve, reject) => {
    const refuse = (error: Error): void => reject(new ListenError(address, error));
    server.once("error", refuse);
    server.listen(port, host, () => {
      server.off("error", refuse);
      resolve();
    });
  });
}

export function untilStopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

export function closeServer(server: Server | SecureServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Answers bytes that are not a request with an error and nothing else. */
export function refuseUnreadable(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === "HPE_HEADER_OVERFLOW"
      ? "431 Request Header Fields Too Large"
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? "408 Request Timeout"
        : "400 Bad Request";
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`,
  );
}
