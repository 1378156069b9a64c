import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { RuntimeError, runtimeErrorCode } from "../../model/runtime-error.ts";

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** One call of a gRPC service, with its messages as plain data. */
export interface GrpcMethod<Request, Response> {
  readonly path: string;
  readonly serialize: (request: Request) => Buffer;
  readonly deserialize: (bytes: Buffer) => Response;
}

/** What an observer learns about a finished call. Times are milliseconds since 1970. */
export interface GrpcCall {
  /** Such as RunPodSandbox. */
  readonly method: string;
  readonly request: unknown;
  readonly response?: unknown;
  readonly error?: RuntimeError | undefined;
  /** The deadline given to the call; absent when there was none. */
  readonly timeoutMs?: number | undefined;
  readonly startedMs: number;
  readonly endedMs: number;
}

export type GrpcObserver = (call: GrpcCall) => void;

interface StreamHandlers<Response> {
  /** The server has answered for this stream: what follows are messages. */
  readonly onHeaders: () => void;
  readonly onMessage: (message: Response) => void;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A connection to a unix socket that comes back by itself when the server does. */
export class GrpcConnection {
  readonly #client: Client;
  readonly #onCall: GrpcObserver | undefined;

  constructor(socketPath: string, onCall: GrpcObserver | undefined) {
    this.#onCall = onCall;
    this.#client = new Client(`unix://${socketPath}`, credentials.createInsecure(), {
      "grpc.default_authority": "localhost",
      "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
      // A restarting runtime is back within a second; the default would double up to two minutes.
      "grpc.initial_reconnect_backoff_ms": 50,
      "grpc.max_reconnect_backoff_ms": 250,
      "grpc.enable_http_proxy": 0,
      "grpc.service_config_disable_resolution": 1,
      // Closing this connection must not depend on another one to the same socket.
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  /** Rejects with a RuntimeError; `timeoutMs` undefined = no deadline. */
  call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    timeoutMs: number | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const observe = this.#onCall;
    if (observe === undefined) return this.send(method, request, timeoutMs, signal);
    const startedMs = Date.now();
    const seen = { method: methodName(method.path), request, timeoutMs, startedMs };
    return this.send(method, request, timeoutMs, signal).then(
      (response) => {
        observe({ ...seen, response, endedMs: Date.now() });
        return response;
      },
      (error: unknown) => {
        if (error instanceof RuntimeError) observe({ ...seen, error, endedMs: Date.now() });
        throw error;
      },
    );
  }

  /** As `call`, unseen by the observer. */
  send<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    timeoutMs: number | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(cancelled(method.path, signal));
        return;
      }
      const options = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
      const abort = (): void => call.cancel();
      const call = this.#client.makeUnaryRequest(
        method.path,
        method.serialize,
        method.deserialize,
        request,
        options,
        (error, response) => {
          signal.removeEventListener("abort", abort);
          if (response !== undefined) resolve(response);
          else if (signal.aborted) reject(cancelled(method.path, signal));
          else reject(runtimeError(method.path, error));
        },
      );
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  /** Hands over the messages of a stream; resolves when `signal` aborts, rejects when the stream ends before. */
  stream<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    handlers: StreamHandlers<Response>,
    signal: AbortSignal,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        resolve();
        return;
      }
      const stream = this.#client.makeServerStreamRequest(
        method.path,
        method.serialize,
        method.deserialize,
        request,
        toMetadata(handlers.metadata),
      );
      const abort = (): void => stream.cancel();
      signal.addEventListener("abort", abort, { once: true });
      const finish = (error: unknown): void => {
        signal.removeEventListener("abort", abort);
        if (signal.aborted) resolve();
        else reject(runtimeError(method.path, error));
      };
      stream.on("metadata", handlers.onHeaders);
      stream.on("data", (message: Response) => {
        if (!signal.aborted) handlers.onMessage(message);
      });
      stream.on("error", finish);
      stream.on("end", () => finish(undefined));
    });
  }

  close(): void {
    this.#client.close();
  }
}

function toMetadata(entries: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value);
  return metadata;
}

function methodName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function cancelled(path: string, signal: AbortSignal): RuntimeError {
  return new RuntimeError(methodName(path), "Cancelled", "context canceled", {
    cause: signal.reason,
  });
}

function runtimeError(path: string, error: unknown): RuntimeError {
  const method = methodName(path);
  if (!isServiceError(error)) {
    const text = error instanceof Error ? error.message : "the runtime ended the stream";
    return new RuntimeError(method, "Unavailable", text, { cause: error });
  }
  // A deadline that passes here reads as one that passes in the runtime: users search for that text.
  const details =
    error.code === status.DEADLINE_EXCEEDED && error.details.startsWith("Deadline exceeded")
      ? "context deadline exceeded"
      : error.details;
  return new RuntimeError(method, runtimeErrorCode(error.code), details, { cause: error });
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && "details" in error;
}
