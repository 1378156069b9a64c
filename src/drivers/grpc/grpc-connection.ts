// gRPC over a unix socket, on Node's own HTTP/2: grpc-js took 14 MB of memory and 150 ms of every start for what is done here.
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { withDeadline } from "../../lib/deadline.ts";
import { startTimer } from "../../lib/timers.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { exchange, type GrpcPauses, methodName } from "./grpc-call.ts";

/** Data that arrived and is not read yet may take so much, in MB: more than any answer. */
const maxSessionMemory = 64;

/** One call of a gRPC service, with its messages as plain data. */
export interface GrpcMethod<Request, Response> {
  readonly path: string;
  readonly serialize: (request: Request) => Buffer;
  readonly deserialize: (bytes: Buffer) => Response;
  /** Fields of bytes or text in answers are cut to this length while they arrive. */
  readonly maxFieldBytes?: number | undefined;
  /** A longer answer ends the call; undefined = 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
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
  readonly onHeaders?: (() => void) | undefined;
  readonly onMessage: (message: Response) => void;
  readonly metadata: Readonly<Record<string, string>>;
  readonly timeoutMs?: number | undefined;
  readonly pauses?: GrpcPauses | undefined;
}

/** A connection to a unix socket, made when it is needed and again when it was lost. */
export class GrpcConnection {
  readonly #socketPath: string;
  readonly #onCall: GrpcObserver | undefined;
  #session: Promise<ClientHttp2Session> | undefined;

  constructor(socketPath: string, onCall: GrpcObserver | undefined) {
    this.#socketPath = socketPath;
    this.#onCall = onCall;
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
  async send<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    timeoutMs: number | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const answers: Response[] = [];
    const onMessage = (message: Response): void => void answers.push(message);
    await this.#exchange(method, request, { onMessage, metadata: {}, timeoutMs }, signal);
    const [answer] = answers;
    if (answer !== undefined) return answer;
    throw new RuntimeError(methodName(method.path), "Internal", "the call had no answer");
  }

  /** Hands over the messages of a stream; resolves when `signal` aborts, rejects when the stream ends before. */
  async stream<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    handlers: StreamHandlers<Response>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#exchange(method, request, handlers, signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    const name = methodName(method.path);
    throw new RuntimeError(name, "Unavailable", "the runtime ended the stream");
  }

  /** All messages of a stream that has an end. */
  async collect<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    options: Pick<StreamHandlers<Response>, "metadata" | "timeoutMs">,
    signal: AbortSignal,
  ): Promise<readonly Response[]> {
    const messages: Response[] = [];
    const onMessage = (message: Response): void => void messages.push(message);
    await this.#exchange(method, request, { ...options, onMessage }, signal);
    return messages;
  }

  /** Connects; resolves when the server speaks HTTP/2, which one that only accepts connections does not. */
  async whenServed(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const limit = { ms: timeoutMs, what: `the connection to ${this.#socketPath}` };
    await withDeadline({ startTimer }, limit, signal, async (late) => {
      const session = await untilAborted(this.#open(), late);
      await once(session, "remoteSettings", { signal: late });
    });
  }

  /** Connects unless it is connected; resolves when it is. */
  async open(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#open(), signal);
  }

  /** Resolves when the connection is lost; at once when there is none. */
  async whenLost(signal: AbortSignal): Promise<void> {
    const session = await this.#session;
    if (session === undefined || session.closed || session.destroyed) return;
    const closed = new Promise<void>((resolve) => session.once("close", resolve));
    await untilAborted(closed, signal);
  }

  /** Calls that wait for an answer end without one. */
  close(): void {
    const session = this.#session;
    this.#session = undefined;
    session?.then(
      (opened) => opened.destroy(),
      () => undefined,
    );
  }

  #exchange<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    { onHeaders, onMessage, metadata, timeoutMs, pauses }: StreamHandlers<Response>,
    signal: AbortSignal,
  ): Promise<void> {
    const call = {
      path: method.path,
      message: method.serialize(request),
      onHeaders,
      onMessage: (bytes: Buffer) => onMessage(method.deserialize(bytes)),
      metadata,
      timeoutMs,
      pauses,
      maxFieldBytes: method.maxFieldBytes,
      maxMessageBytes: method.maxMessageBytes,
    };
    return exchange(() => this.#open(), call, signal);
  }

  #open(): Promise<ClientHttp2Session> {
    if (this.#session !== undefined) return this.#session;
    const opening = openSession(this.#socketPath, () => {
      if (this.#session === opening) this.#session = undefined;
    });
    this.#session = opening;
    return opening;
  }
}

/** `onLost`: no more calls can be made with it, also when it never came to be. */
function openSession(socketPath: string, onLost: () => void): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connect("http://localhost", {
      createConnection: () => connectSocket(socketPath),
      maxSessionMemory,
    });
    session.once("connect", () => resolve(session));
    // Every call that it breaks reports it.
    session.on("error", (error) => {
      onLost();
      reject(error);
    });
    session.once("goaway", onLost);
    session.once("close", () => {
      onLost();
      reject(new Error(`the connection to ${socketPath} was closed`));
    });
  });
}
