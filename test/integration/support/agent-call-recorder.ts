import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { connect as connectSocket } from "node:net";

/** The calls of the CRI that change nothing, and the one that probes use; all others do. */
const reading = [
  "Version",
  "Status",
  "RuntimeConfig",
  "GetContainerEvents",
  "ExecSync",
  "ListPodSandbox",
  "PodSandboxStatus",
  "ListContainers",
  "ListContainerStats",
  "ContainerStatus",
  "ListImages",
  "ImageStatus",
  "ImageFsInfo",
];

/** Stands between the agent and the runtime's socket, passes everything on and notes which calls are made. */
export class CallRecorder {
  readonly endpoint: string;
  readonly #server: Http2Server;
  readonly #runtime: ClientHttp2Session;
  readonly #sessions = new Set<ServerHttp2Session>();
  #calls: string[] = [];

  private constructor(socket: string, runtimeSocket: string) {
    this.endpoint = `unix://${socket}`;
    this.#runtime = connect("http://localhost", {
      createConnection: () => connectSocket(runtimeSocket),
    });
    this.#server = createServer();
    this.#server.on("session", (session) => this.#sessions.add(session));
    this.#server.on("stream", (stream, headers) => this.#pass(stream, headers));
    this.#server.listen(socket);
  }

  static async start(socket: string, runtimeSocket: string): Promise<CallRecorder> {
    const recorder = new CallRecorder(socket, runtimeSocket);
    await once(recorder.#server, "listening");
    return recorder;
  }

  /** Names of all calls since the last `forget`, such as ListContainers. */
  get calls(): readonly string[] {
    return this.#calls;
  }

  get changingCalls(): readonly string[] {
    return this.#calls.filter((name) => !reading.includes(name) && name !== "Subscribe");
  }

  forget(): void {
    this.#calls = [];
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    this.#runtime.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    this.#calls.push((headers[":path"] ?? "").split("/").at(-1) ?? "");
    const onward = this.#runtime.request(headers, { endStream: false });
    let trailers: IncomingHttpHeaders = {};
    onward.on("response", ({ ":status": status, ...answer }, flags) => {
      // The flag of a response that has no body: the headers are its trailers.
      const endStream = (flags & 1) === 1;
      stream.respond({ ":status": status, ...answer }, { endStream, waitForTrailers: !endStream });
      if (!endStream) onward.pipe(stream);
    });
    onward.on("trailers", (given) => {
      trailers = given;
    });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.pipe(onward);
    stream.on("close", () => onward.close(stream.rstCode));
    onward.on("close", () => {
      if (onward.rstCode !== 0) stream.close(onward.rstCode);
    });
    stream.on("error", () => undefined);
    onward.on("error", () => undefined);
  }
}
