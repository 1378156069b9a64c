import type { IncomingMessage } from "node:http";
import { HttpError } from "./http-error.ts";

export async function readBody(request: IncomingMessage, maxBodyBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > maxBodyBytes) {
      throw new HttpError("RequestEntityTooLarge", `a body has at most ${maxBodyBytes} bytes`);
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString();
}
