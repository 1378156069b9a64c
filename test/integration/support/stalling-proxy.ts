import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Passes connections on to a server, but of each answer only so many bytes: what comes after is held back. */
export class StallingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #stalled: Promise<void>;
  #release: (() => void)[] = [];
  #limitBytes: number;

  private constructor(targetPort: number | undefined, limitBytes: number) {
    this.#limitBytes = limitBytes;
    let stalls = (): void => undefined;
    this.#stalled = new Promise((resolve) => {
      stalls = resolve;
    });
    this.#server = createServer((client) => {
      this.#keep(client);
      if (targetPort === undefined) {
        client.resume();
        return;
      }
      const target = connect(targetPort, "127.0.0.1");
      this.#keep(target);
      client.pipe(target);
      let passed = 0;
      target.on("data", (chunk) => {
        passed += chunk.length;
        client.write(chunk);
        if (passed < this.#limitBytes) return;
        target.pause();
        this.#release.push(() => target.resume());
        stalls();
      });
      const end = (): void => {
        client.destroy();
        target.destroy();
      };
      for (const socket of [client, target]) socket.on("close", end);
    });
  }

  /** In front of a port of loopback; without one it accepts connections and never answers. */
  static async start(targetPort: number | undefined, limitBytes: number): Promise<StallingProxy> {
    const proxy = new StallingProxy(targetPort, limitBytes);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get address(): string {
    // A server on a port has an address with a port.
    const { port } = this.#server.address() as AddressInfo;
    return `127.0.0.1:${port}`;
  }

  /** Resolves once an answer has been cut short. */
  untilStalled(): Promise<void> {
    return this.#stalled;
  }

  /** From now on everything passes. */
  flow(): void {
    this.#limitBytes = Number.POSITIVE_INFINITY;
    for (const release of this.#release) release();
    this.#release = [];
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.#sockets.delete(socket));
  }
}
