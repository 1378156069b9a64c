// A SPDY/3.1 client over a connection that was upgraded to it. The servers of container runtimes keep no
// flow-control windows: a slow reader of one stream stops reading the connection.
import type { Duplex } from "node:stream";
import { untilDrained } from "../until-drained.ts";
import { encodeFrame, type Frame, FrameReader } from "./frame.ts";
import { HeaderCompressor, type Headers } from "./header-block.ts";

/** Bytes of one data frame. */
const chunkBytes = 32 * 1024;

/** One direction each way; ends when the other side has ended it, or with the connection. */
export class SpdyStream {
  readonly id: number;
  /** Resolves when nothing will come any more. */
  readonly ended: Promise<void>;
  readonly #send: (frame: Frame) => Promise<void>;
  readonly #receive: (data: Buffer) => Promise<void> | void;
  #end: () => void = () => undefined;

  constructor(
    id: number,
    send: (frame: Frame) => Promise<void>,
    receive: (data: Buffer) => Promise<void> | void,
  ) {
    this.id = id;
    this.#send = send;
    this.#receive = receive;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Resolves when the connection can take more. */
  async write(data: Uint8Array): Promise<void> {
    for (let start = 0; start < data.length; start += chunkBytes) {
      const part = Buffer.from(data.subarray(start, start + chunkBytes));
      await this.#send({ kind: "data", streamId: this.id, isLast: false, data: part });
    }
  }

  /** Says that nothing more will be written; the other direction stays open. */
  finish(): Promise<void> {
    return this.#send({ kind: "data", streamId: this.id, isLast: true, data: Buffer.alloc(0) });
  }

  /** For the connection: hands on what came. */
  async accept(data: Buffer, isLast: boolean): Promise<void> {
    if (data.length > 0) await this.#receive(data);
    if (isLast) this.#end();
  }
}

export class SpdyConnection implements Disposable {
  readonly #connection: Duplex;
  readonly #compressor = new HeaderCompressor();
  readonly #streams = new Map<number, SpdyStream>();
  readonly #reader = new FrameReader();
  #nextId = 1;
  #isOver = false;

  /** `head` = what came right behind the upgrade. */
  constructor(connection: Duplex, head: Buffer) {
    this.#connection = connection;
    if (head.length > 0) connection.unshift(head);
    // Bytes that are not SPDY, and a connection that breaks, both end every stream.
    connection.on("error", () => connection.destroy());
    void this.#read()
      .catch(() => undefined)
      // Not every version of Node closes the writing half with the reading one.
      .finally(() => connection.destroy());
  }

  /** `receive` gets the stream's data in order; while its promise is pending nothing more is read. */
  async open(
    headers: Headers,
    receive: (data: Buffer) => Promise<void> | void,
  ): Promise<SpdyStream> {
    const stream = new SpdyStream(this.#nextId, (frame) => this.#send(frame), receive);
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    const headerBlock = await this.#compressor.compress(headers);
    await this.#send({ kind: "open", streamId: stream.id, headerBlock });
    if (this.#isOver) await stream.accept(Buffer.alloc(0), true);
    return stream;
  }

  [Symbol.dispose](): void {
    this.#compressor[Symbol.dispose]();
    this.#connection.destroy();
  }

  async #read(): Promise<void> {
    try {
      for await (const chunk of this.#connection) {
        for (const frame of this.#reader.push(Buffer.from(chunk))) await this.#handle(frame);
      }
    } finally {
      this.#isOver = true;
      for (const stream of this.#streams.values()) await stream.accept(Buffer.alloc(0), true);
    }
  }

  async #handle(frame: Frame): Promise<void> {
    switch (frame.kind) {
      case "data":
        await this.#streams.get(frame.streamId)?.accept(frame.data, frame.isLast);
        return;
      case "reply":
      case "reset":
        await this.#streams
          .get(frame.streamId)
          ?.accept(Buffer.alloc(0), frame.kind === "reset" || frame.isLast);
        return;
      case "ping":
        // Even numbers are the server's own; odd ones would be answers to ours.
        if (frame.id % 2 === 0) await this.#send(frame);
        return;
      case "open":
      case "go-away":
      case "other":
        return;
      default:
        frame satisfies never;
    }
  }

  async #send(frame: Frame): Promise<void> {
    if (this.#connection.destroyed || this.#connection.writableEnded) return;
    if (this.#connection.write(encodeFrame(frame))) return;
    await untilDrained(this.#connection);
  }
}
