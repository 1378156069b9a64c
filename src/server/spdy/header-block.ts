import { constants, createDeflate, type Deflate } from "node:zlib";
import { headerDictionary } from "./header-dictionary.ts";

export type Headers = Readonly<Record<string, string>>;

/** Names and values as SPDY/3 writes them before compression. */
export function encodeHeaders(headers: Headers): Buffer {
  const entries = Object.entries(headers);
  return Buffer.concat([
    uint32(entries.length),
    ...entries.flatMap(([name, value]) => [text(name.toLowerCase()), text(value)]),
  ]);
}

/** Compresses the header blocks of one connection: each builds on those before it. */
export class HeaderCompressor implements Disposable {
  readonly #deflate: Deflate = createDeflate({ dictionary: headerDictionary });
  #last: Promise<unknown> = Promise.resolve();

  compress(headers: Headers): Promise<Buffer> {
    const block = this.#last.then(() => this.#compress(encodeHeaders(headers)));
    this.#last = block.catch(() => undefined);
    return block;
  }

  [Symbol.dispose](): void {
    this.#deflate.close();
  }

  #compress(bytes: Buffer): Promise<Buffer> {
    const chunks: Buffer[] = [];
    const collect = (chunk: Buffer): void => void chunks.push(chunk);
    return new Promise((resolve, reject) => {
      this.#deflate.once("error", reject);
      this.#deflate.on("data", collect);
      this.#deflate.write(bytes);
      this.#deflate.flush(constants.Z_SYNC_FLUSH, () => {
        this.#deflate.off("data", collect);
        this.#deflate.off("error", reject);
        resolve(Buffer.concat(chunks));
      });
    });
  }
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
