import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import { onAbort } from "../../lib/on-abort.ts";
import { startTimer } from "../../lib/timers.ts";
import {
  RuntimeError,
  type RuntimeErrorCode,
  runtimeErrorCode,
} from "../../model/runtime-error.ts";
import { CutFrameReader } from "./cut-frames.ts";
import { encodeFrame, FrameReader } from "./grpc-frames.ts";

/** Nothing is read for a while after messages have come: a server that sends without end must not keep the agent busy. */
export interface GrpcPauses {
  readonly ms: number;
  /** All messages that came together were handed over. What it throws ends the call. */
  readonly onMessages: () => void;
}

/** One call: a message goes there, any number come back. */
export interface GrpcExchange {
  readonly path: string;
  readonly message: Uint8Array;
  /** Undefined = no deadline. */
  readonly timeoutMs?: number | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The server has taken the call: what follows are messages. */
  readonly onHeaders?: (() => void) | undefined;
  /** Fields of bytes or text are cut to this length while they arrive; undefined = they are kept whole. */
  readonly maxFieldBytes?: number | undefined;
  /** A longer message ends the call; undefined = 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  readonly pauses?: GrpcPauses | undefined;
  /** What it throws ends the call. */
  readonly onMessage: (message: Buffer) => void;
}

interface Failure {
  readonly code: RuntimeErrorCode;
  readonly text: string;
  readonly cause?: unknown;
}

// What gRPC allows a time to have: eight digits and a unit.
const mostTimeout = 99_999_999;
const timeoutUnits = [
  { name: "m", ms: 1 },
  { name: "S", ms: 1000 },
  { name: "M", ms: 60_000 },
] as const;
const longestTimeoutUnit = { name: "H", ms: 3_600_000 } as const;

/** Resolves when the server has answered and said that all is well; rejects with a RuntimeError, when `signal` aborts too. */
export function exchange(
  open: () => Promise<ClientHttp2Session>,
  call: GrpcExchange,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream | undefined;
    let isOver = false;
    const onMessage = (message: Buffer): void => {
      if (!isOver) call.onMessage(message);
    };
    let release: (() => void) | undefined;
    const finish = (failure: Failure | undefined): void => {
      if (isOver) return;
      isOver = true;
      timer?.stop();
      release?.();
      // Cancels the call on the server, unless the stream is closed already.
      stream?.close(constants.NGHTTP2_CANCEL);
      if (failure === undefined) resolve();
      else reject(grpcError(call.path, failure));
    };
    const abort = (): void => finish(cancelled(signal));
    const expire = (): void =>
      // As one that passes in the runtime: users search for that text.
      finish({ code: "DeadlineExceeded", text: "context deadline exceeded" });
    const timer = call.timeoutMs === undefined ? undefined : startTimer(call.timeoutMs, expire);
    if (signal.aborted) {
      abort();
      return;
    }
    release = onAbort(signal, abort);
    const begin = async (): Promise<void> => {
      try {
        const session = await open();
        if (isOver) return;
        stream = session.request(requestHeaders(call));
        listen(stream, { ...call, onMessage }, finish);
        stream.end(encodeFrame(call.message));
      } catch (error) {
        finish(unavailable(error));
      }
    };
    void begin();
  });
}

function listen(
  stream: ClientHttp2Stream,
  { onHeaders, onMessage, maxFieldBytes, maxMessageBytes, pauses }: GrpcExchange,
  finish: (failure: Failure | undefined) => void,
): void {
  const frames =
    maxFieldBytes === undefined
      ? new FrameReader(maxMessageBytes)
      : new CutFrameReader(maxFieldBytes);
  let answer: IncomingHttpHeaders = {};
  let problem: unknown;
  stream.on("response", (headers) => {
    answer = headers;
    if (headers["grpc-status"] === undefined) onHeaders?.();
  });
  stream.on("trailers", (trailers) => {
    answer = { ...answer, ...trailers };
  });
  /** Whether any message was complete with it. */
  const take = (piece: Buffer): boolean => {
    try {
      const messages = frames.take(piece);
      if (!messages.ok) {
        finish({ code: "Internal", text: messages.error });
        return false;
      }
      for (const message of messages.value) onMessage(message);
      if (messages.value.length > 0) pauses?.onMessages();
      return messages.value.length > 0;
    } catch (error) {
      finish({ code: "Internal", text: `cannot read the answer: ${String(error)}`, cause: error });
      return false;
    }
  };
  if (pauses === undefined) stream.on("data", take);
  else readInPauses(stream, take, pauses.ms);
  stream.on("error", (error) => {
    problem = error;
  });
  stream.on("close", () => finish(failureOf(answer, stream.rstCode, problem)));
}

function readInPauses(
  stream: ClientHttp2Stream,
  take: (piece: Buffer) => boolean,
  pauseMs: number,
): void {
  let isPaused = false;
  const read = (): void => {
    if (isPaused) return;
    // All that has come since.
    const piece: Buffer | null = stream.read();
    if (piece === null || !take(piece)) return;
    isPaused = true;
    startTimer(
      pauseMs,
      () => {
        isPaused = false;
        read();
      },
      { keepsAlive: false },
    );
  };
  stream.on("readable", read);
}

function failureOf(
  answer: IncomingHttpHeaders,
  resetCode: number | undefined,
  problem: unknown,
): Failure | undefined {
  const status = answer["grpc-status"];
  if (status === "0") return undefined;
  if (status !== undefined) {
    const text = decodeMessage(String(answer["grpc-message"] ?? ""));
    return { code: runtimeErrorCode(Number(status)), text };
  }
  const httpStatus = Number(answer[":status"] ?? 200);
  if (httpStatus !== 200) {
    return {
      code: "Unknown",
      text: `unexpected HTTP status code received from server: ${httpStatus}`,
    };
  }
  // Node closes the streams of a connection that broke with a code of its own.
  if (isConnectionError(problem)) return unavailable(problem);
  const isServers =
    resetCode === constants.NGHTTP2_INTERNAL_ERROR ||
    resetCode === constants.NGHTTP2_PROTOCOL_ERROR ||
    resetCode === constants.NGHTTP2_FLOW_CONTROL_ERROR;
  if (isServers) {
    return { code: "Internal", text: `stream terminated by RST_STREAM with code ${resetCode}` };
  }
  return unavailable(problem ?? new Error("the connection to the runtime was lost"));
}

function isConnectionError(problem: unknown): boolean {
  return problem instanceof Error && "code" in problem && problem.code !== "ERR_HTTP2_STREAM_ERROR";
}

function unavailable(error: unknown): Failure {
  const text = error instanceof Error ? error.message : String(error);
  return { code: "Unavailable", text, cause: error };
}

function cancelled(signal: AbortSignal): Failure {
  return { code: "Cancelled", text: "context canceled", cause: signal.reason };
}

/** The failure of a call, named after its method. */
function grpcError(path: string, { code, text, cause }: Failure): RuntimeError {
  return new RuntimeError(methodName(path), code, text, { cause });
}

/** Such as RunPodSandbox. */
export function methodName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function requestHeaders({ path, timeoutMs, metadata }: GrpcExchange): Record<string, string> {
  return {
    ":method": "POST",
    ":path": path,
    ":authority": "localhost",
    "content-type": "application/grpc",
    te: "trailers",
    "user-agent": "berth",
    ...(timeoutMs !== undefined && { "grpc-timeout": timeoutText(timeoutMs) }),
    ...metadata,
  };
}

function timeoutText(timeoutMs: number): string {
  const { name, ms } =
    timeoutUnits.find((unit) => timeoutMs <= mostTimeout * unit.ms) ?? longestTimeoutUnit;
  return `${Math.min(Math.max(0, Math.ceil(timeoutMs / ms)), mostTimeout)}${name}`;
}

/** gRPC sends what is not plain ASCII percent-encoded. */
function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
