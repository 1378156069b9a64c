import { rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";

/** "PRI * HTTP/2.0" and what follows it. */
const prefaceBytes = 24;
const frameHeaderBytes = 9;
const headersFrame = 1;

/** Stands between an agent and its runtime's socket and counts the calls: each begins with one frame of headers. */
export class CallCounter {
  readonly endpoint: string;
  readonly #server: Server;
  readonly #path: string;
  readonly #sockets = new Set<Socket>();
  #calls = 0;

  private constructor(path: string, runtimeSocket: string) {
    this.#path = path;
    this.endpoint = `unix://${path}`;
    this.#server = createServer((client) => {
      const runtime = connect(runtimeSocket);
      this.#join(client, runtime);
      client.on("data", (chunk) => runtime.write(chunk));
      runtime.on("data", (chunk) => client.write(chunk));
      const count = frameReader((type) => {
        if (type === headersFrame) this.#calls += 1;
      });
      client.on("data", count);
    });
  }

  static async start(path: string, runtimeEndpoint: string): Promise<CallCounter> {
    rmSync(path, { force: true });
    const counter = new CallCounter(path, runtimeEndpoint.replace(/^unix:\/\//, ""));
    await new Promise<void>((resolve) => counter.#server.listen(path, resolve));
    return counter;
  }

  get calls(): number {
    return this.#calls;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#path, { force: true });
  }

  #join(...pair: readonly Socket[]): void {
    for (const socket of pair) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        for (const other of pair) other.destroy();
      });
    }
  }
}

/** Tells the type of every frame that a client of HTTP/2 sends. */
function frameReader(onFrame: (type: number) => void): (chunk: Buffer) => void {
  let skip = prefaceBytes;
  let header = Buffer.alloc(0);
  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (skip > 0) {
        const step = Math.min(skip, chunk.length - at);
        skip -= step;
        at += step;
        continue;
      }
      const step = Math.min(frameHeaderBytes - header.length, chunk.length - at);
      header = Buffer.concat([header, chunk.subarray(at, at + step)]);
      at += step;
      if (header.length < frameHeaderBytes) return;
      onFrame(header.readUInt8(3));
      skip = header.readUIntBE(0, 3);
      header = Buffer.alloc(0);
    }
  };
}
