import type { ServerResponse } from "node:http";
import type { LogStream } from "./log-filter.ts";
import { type LogReadOptions, readLog } from "./log-reader.ts";
import { untilDrained } from "./until-drained.ts";

/** Sends a log as the rest of an answer, as fast as the client reads it. */
export async function sendLogLines(
  response: ServerResponse,
  path: string,
  options: LogReadOptions,
  signal: AbortSignal,
): Promise<void> {
  const write = async (_: LogStream, bytes: Uint8Array): Promise<void> => {
    if (response.write(bytes)) return;
    await untilDrained(response);
  };
  await readLog(path, options, write, signal);
}
