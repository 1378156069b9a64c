import { parseJsonText } from "../lib/json-text.ts";
/** One parsed value per line of a stream; what follows the last newline is not yet complete and dropped. */
export async function* readJsonLines(source: AsyncIterable<unknown>): AsyncGenerator {
  const decoder = new TextDecoder();
  let pending = "";
  for await (const chunk of source) {
    pending +=
      chunk instanceof Uint8Array ? decoder.decode(chunk, { stream: true }) : String(chunk);
    const lines = pending.split("\n");
    pending = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield parseJsonText(line);
  }
}
