import type { WireResponse } from "./wire.ts";

// The largest list that a node asks for is far smaller.
const maxBodyBytes = 128 * 1024 * 1024;

/** The whole body as text. Rejects when the connection breaks in the middle of it. */
export async function readBody(
  { body, isWhole }: WireResponse,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBodyBytes) throw new Error(`the answer is longer than ${maxBodyBytes} bytes`);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  signal.throwIfAborted();
  if (!isWhole()) throw new Error("the answer broke off");
  return Buffer.concat(chunks).toString("utf8");
}
