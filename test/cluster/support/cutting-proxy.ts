import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** Passes connections on to a server until they are cut. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cuts = 0;

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#server = createServer((client) => {
      const server = connect(target);
      for (const [socket, other] of [
        [client, server],
        [server, client],
      ] as const) {
        this.#sockets.add(socket);
        socket.pipe(other);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
      }
    });
  }

  /** Listens on another port of the target's address. */
  static async start(target: URL, port: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy({ host: target.hostname, port: Number(target.port) });
    proxy.#server.listen(port, target.hostname);
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** How many connections were cut. */
  get cuts(): number {
    return this.#cuts;
  }

  /** Breaks every connection that is open now. */
  cut(): void {
    this.#cuts += this.#sockets.size / 2;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, "close");
  }
}
