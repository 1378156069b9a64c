import { rmSync } from "node:fs";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { connect as connectSocket } from "node:net";

const pathHeader = ":path";
const statusHeader = ":status";

/** Stands between an agent and its runtime's socket: passes every call on, and counts them. */
export class RuntimeProxy {
  readonly endpoint: string;
  readonly #path: string;
  readonly #runtimeSocket: string;
  readonly #server: Http2Server = createServer();
  readonly #sessions = new Set<Http2Session>();
  /** The methods that were called, such as CreateContainer. */
  readonly #calls: string[] = [];

  private constructor(path: string, runtimeSocket: string) {
    this.#path = path;
    this.#runtimeSocket = runtimeSocket;
    this.endpoint = `unix://${path}`;
    this.#server.on("session", (session) => this.#join(session));
  }

  static async start(path: string, runtimeEndpoint: string): Promise<RuntimeProxy> {
    rmSync(path, { force: true });
    const proxy = new RuntimeProxy(path, runtimeEndpoint.replace(/^unix:\/\//, ""));
    await new Promise<void>((resolve) => proxy.#server.listen(path, resolve));
    return proxy;
  }

  /** How many there have been so far. */
  get calls(): number {
    return this.#calls.length;
  }

  /** How often each method was called, after so many calls. */
  methodsSince(calls: number): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const method of this.#calls.slice(calls)) counts[method] = (counts[method] ?? 0) + 1;
    return counts;
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#path, { force: true });
  }

  #join(agent: Http2Session): void {
    const runtime = connect("http://localhost", {
      createConnection: () => connectSocket(this.#runtimeSocket),
    });
    for (const [session, other] of [
      [agent, runtime],
      [runtime, agent],
    ] as const) {
      this.#sessions.add(session);
      session.on("error", () => undefined);
      session.on("close", () => {
        this.#sessions.delete(session);
        other.destroy();
      });
    }
    agent.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      this.#calls.push(String(headers[pathHeader]).split("/").at(-1) ?? "");
      passOn(stream, headers, runtime);
    });
  }
}

function passOn(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  runtime: ClientHttp2Session,
): void {
  const call = runtime.request(headers);
  let trailers: IncomingHttpHeaders = {};
  stream.on("wantTrailers", () => {
    const { [statusHeader]: _, ...fields } = trailers;
    stream.sendTrailers(fields);
  });
  call.on("response", (answer, flags) => {
    // The headers of a refused call are its trailers as well.
    const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (!stream.destroyed) stream.respond(answer, { endStream, waitForTrailers: !endStream });
  });
  call.on("trailers", (fields) => {
    trailers = fields;
  });
  for (const [one, other] of [
    [stream, call],
    [call, stream],
  ] as const) {
    one.on("error", () => undefined);
    // One that was cut short takes the other with it; else the other still has an end to send.
    one.on("close", () => {
      if (one.rstCode !== constants.NGHTTP2_NO_ERROR) other.close(one.rstCode);
    });
  }
  stream.pipe(call);
  call.pipe(stream);
}
