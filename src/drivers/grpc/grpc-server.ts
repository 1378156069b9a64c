// A gRPC server on a unix socket, for the few calls that other programs of the node make, on Node's own HTTP/2 as the client is.
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { errorText } from "../../lib/error-text.ts";
import { startTimer, type Timer } from "../../lib/timers.ts";
import { grpcStatus, RuntimeError, type RuntimeErrorCode } from "../../model/runtime-error.ts";
import type { SocketServer } from "../../ports/socket-server.ts";
import { encodeFrame, FrameReader } from "./grpc-frames.ts";
import { listenOnUnixSocket } from "./listen-on-unix-socket.ts";

/** One call that the server takes, with its messages as bytes. */
export interface GrpcHandler {
  readonly path: string;
  /** `signal` aborts when the caller no longer waits. What it throws is the caller's answer. */
  handle(message: Buffer, signal: AbortSignal): Promise<Uint8Array>;
}

interface GrpcServerOptions {
  readonly socketPath: string;
  readonly handlers: readonly GrpcHandler[];
  /** Whether one more call may be taken now; undefined = always. */
  readonly isAllowed?: (() => boolean) | undefined;
  /** How long a caller may take to send its message and to read its answer; shorter in tests. */
  readonly transferTimeoutMs?: number | undefined;
}

/** Requests hold a few names. */
const maxMessageBytes = 64 * 1024;
const maxHeaderBytes = 16 * 1024;
const maxConnections = 64;
const maxCallsPerConnection = 16;
const defaultTransferTimeoutMs = 30_000;
/** Longer texts would not pass the limits that clients have for headers. */
const maxErrorTextBytes = 4096;

interface WireMethod<Request, WireResponse> {
  readonly path: string;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (response: WireResponse) => Buffer;
}

interface WireMessage<WireResponse> {
  readonly fromPartial: (partial: never) => WireResponse;
}

/** A call with plain messages, by its generated definition. */
export function grpcHandler<Request, Response extends object, WireResponse>(
  definition: WireMethod<Request, WireResponse>,
  message: WireMessage<WireResponse>,
  answer: (request: Request, signal: AbortSignal) => Response | Promise<Response>,
): GrpcHandler {
  return {
    path: definition.path,
    handle: async (bytes, signal) => {
      const response = await answer(parse(definition, bytes), signal);
      return definition.responseSerialize(message.fromPartial(response as never));
    },
  };
}

function parse<Request>({ path, requestDeserialize }: WireMethod<Request, never>, bytes: Buffer) {
  try {
    return requestDeserialize(bytes);
  } catch (error) {
    const text = `grpc: error unmarshalling request: ${errorText(error)}`;
    throw new RuntimeError(path, "Internal", text, { cause: error });
  }
}

/** Serves until it is closed. */
export async function serveGrpc(options: GrpcServerOptions): Promise<SocketServer> {
  const { transferTimeoutMs = defaultTransferTimeoutMs, isAllowed = () => true } = options;
  const handlers = new Map(options.handlers.map((handler) => [handler.path, handler]));
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer({
    settings: { maxConcurrentStreams: maxCallsPerConnection, maxHeaderListSize: maxHeaderBytes },
  });
  server.maxConnections = maxConnections;
  server.on("session", (session) => {
    sessions.add(session);
    const timer = startTimer(transferTimeoutMs, () => session.destroy(), { keepsAlive: false });
    session.once("remoteSettings", () => timer.stop());
    // What it breaks is a connection that the other side has to make again.
    session.on("error", () => undefined);
    session.once("close", () => {
      timer.stop();
      sessions.delete(session);
    });
  });
  server.on("stream", (stream, headers) => {
    const call = new IncomingCall(stream, transferTimeoutMs);
    const handler = handlers.get(headers[":path"] ?? "");
    const problem = problemOf(headers, handler) ?? (isAllowed() ? undefined : tooMany());
    if (handler === undefined || problem !== undefined) call.fail(problem);
    else call.take(handler);
  });
  const close = await listenOnUnixSocket(server, options.socketPath);
  return {
    close: async () => {
      const closed = close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

function problemOf(
  headers: IncomingHttpHeaders,
  handler: GrpcHandler | undefined,
): RuntimeError | undefined {
  const path = headers[":path"] ?? "";
  if (headers["content-type"]?.startsWith("application/grpc") !== true) {
    return new RuntimeError(path, "InvalidArgument", "the call is not one of gRPC");
  }
  if (handler !== undefined) return undefined;
  return new RuntimeError(path, "Unimplemented", `unknown method ${path}`);
}

function tooMany(): RuntimeError {
  // As the kubelet's text: callers look for it.
  return new RuntimeError("", "ResourceExhausted", "rejected by rate limit");
}

/** A call while its message arrives, is answered, and the answer is read. */
class IncomingCall {
  readonly #stream: ServerHttp2Stream;
  readonly #transferTimeoutMs: number;
  readonly #gone = new AbortController();
  #timer: Timer;
  #isAnswered = false;

  constructor(stream: ServerHttp2Stream, transferTimeoutMs: number) {
    this.#stream = stream;
    this.#transferTimeoutMs = transferTimeoutMs;
    this.#timer = this.#startTransfer();
    stream.on("error", () => undefined);
    stream.once("close", () => {
      this.#timer.stop();
      this.#gone.abort(new Error("the caller no longer waits"));
    });
  }

  /** Reads the one message, and answers it. */
  take(handler: GrpcHandler): void {
    const frames = new FrameReader(maxMessageBytes);
    let message: Buffer | undefined;
    this.#stream.on("data", (piece: Buffer) => {
      if (this.#isAnswered) return;
      const messages = frames.take(piece);
      if (!messages.ok) {
        this.fail(new RuntimeError(handler.path, "ResourceExhausted", messages.error));
      } else message ??= messages.value[0];
    });
    this.#stream.once("end", () => {
      if (this.#isAnswered) return;
      this.#timer.stop();
      if (message !== undefined) void this.#answer(handler, message);
      else this.fail(new RuntimeError(handler.path, "Internal", "the call has no whole message"));
    });
  }

  async #answer(handler: GrpcHandler, message: Buffer): Promise<void> {
    try {
      const response = await handler.handle(message, this.#gone.signal);
      if (!this.#begin()) return;
      this.#stream.respond(headersOf({}), { waitForTrailers: true });
      this.#stream.once("wantTrailers", () => this.#stream.sendTrailers({ "grpc-status": "0" }));
      this.#stream.end(encodeFrame(response));
    } catch (error) {
      this.fail(error);
    }
  }

  /** Answers with the failure alone; the rest of what arrives is not read. */
  fail(error: unknown): void {
    if (!this.#begin()) return;
    const code: RuntimeErrorCode = error instanceof RuntimeError ? error.code : "Unknown";
    const status = {
      "grpc-status": String(grpcStatus(code)),
      "grpc-message": encodeText(errorText(error)),
    };
    this.#stream.respond(headersOf(status), { endStream: true });
    this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }

  /** Whether the caller still waits for an answer. */
  #begin(): boolean {
    if (this.#isAnswered || this.#stream.destroyed || this.#stream.closed) return false;
    this.#isAnswered = true;
    this.#timer.stop();
    this.#timer = this.#startTransfer();
    return true;
  }

  #startTransfer(): Timer {
    const giveUp = (): void => this.#stream.close(constants.NGHTTP2_CANCEL);
    return startTimer(this.#transferTimeoutMs, giveUp, { keepsAlive: false });
  }
}

function headersOf(status: Readonly<Record<string, string>>): Record<string, string | number> {
  return { ":status": 200, "content-type": "application/grpc", ...status };
}

/** gRPC sends what is not plain ASCII percent-encoded. */
function encodeText(text: string): string {
  let encoded = "";
  for (const byte of Buffer.from(text).subarray(0, maxErrorTextBytes)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}
