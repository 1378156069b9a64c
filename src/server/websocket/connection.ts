import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import { startTimer } from "../../lib/timers.ts";
import { untilDrained } from "../until-drained.ts";
import { encodeMessage, MessageReader } from "./frame.ts";

const handshakeId = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const defaultMaxMessageBytes = 16 * 1024 * 1024;
/** How long the client has to answer a close frame. */
const goodbyeMs = 5_000;
const normalClosure = Buffer.from([0x03, 0xe8]);

/** The protocols that a client offers. */
export function offeredProtocols(headers: IncomingHttpHeaders): readonly string[] {
  const header = headers["sec-websocket-protocol"] ?? "";
  return header.split(",").map((protocol) => protocol.trim());
}

/** Whether a client asks as the protocol has it. */
export function isHandshake(headers: IncomingHttpHeaders): boolean {
  return headers["sec-websocket-version"] === "13" && (headers["sec-websocket-key"] ?? "") !== "";
}

/** The server's end of a WebSocket. */
export class WebSocketConnection {
  readonly #socket: Duplex;
  readonly #reader: MessageReader;
  #isClosing = false;

  private constructor(socket: Duplex, head: Buffer, maxMessageBytes: number) {
    this.#socket = socket;
    this.#reader = new MessageReader(maxMessageBytes);
    if (head.length > 0) socket.unshift(head);
  }

  /** Answers a client's handshake with the protocol that was chosen. */
  static accept(
    headers: IncomingHttpHeaders,
    protocol: string,
    { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
    maxMessageBytes: number = defaultMaxMessageBytes,
  ): WebSocketConnection {
    const key = headers["sec-websocket-key"] ?? "";
    const accepted = createHash("sha1").update(`${key}${handshakeId}`).digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
    );
    return new WebSocketConnection(socket, head, maxMessageBytes);
  }

  /** Resolves when the client can be sent more. */
  send(data: Uint8Array): Promise<void> {
    return this.#send("binary", data);
  }

  /** The same for a message of text. */
  sendText(text: string): Promise<void> {
    return this.#send("text", Buffer.from(text));
  }

  /** Hands on every message; while that is pending no more is read. Resolves when the client has ended or broken off. */
  async read(receive: (data: Buffer, isText: boolean) => Promise<void> | void): Promise<void> {
    try {
      // The goodbye is still to be said when reading ends.
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false })) {
        for (const message of this.#reader.push(Buffer.from(chunk))) {
          if (message.kind === "close") return;
          if (message.kind === "ping") await this.#answer(message.data);
          else await receive(message.data, message.isText);
        }
      }
    } catch {
      // Aborted or a protocol error: no peer is left to answer.
    } finally {
      this.close();
    }
  }

  /** Says goodbye, and ends the connection when the client did so, too, or does not in time. */
  close(): void {
    if (this.#isClosing || this.#socket.destroyed) return;
    this.#isClosing = true;
    const patience = startTimer(goodbyeMs, () => this.#socket.destroy());
    this.#socket.on("close", () => patience.stop());
    this.#socket.end(encodeMessage("close", normalClosure));
  }

  async #send(kind: "text" | "binary", data: Uint8Array): Promise<void> {
    if (this.#isClosing || this.#socket.destroyed) return;
    if (!this.#socket.write(encodeMessage(kind, data))) await untilDrained(this.#socket);
  }

  /** Resolves when the client can be sent more: one that pings and never reads is not read on. */
  async #answer(ping: Buffer): Promise<void> {
    if (this.#isClosing || this.#socket.write(encodeMessage("pong", ping))) return;
    await untilDrained(this.#socket);
  }
}
