import type { ServerResponse } from "node:http";
import type { LogStream } from "../model/log/log-filter.ts";
import { type LogReadOptions, readLog } from "./log-reader.ts";

/** Sends a log as the rest of an answer, as fast as the client reads it. */
export async function sendLogLines(
  response: ServerResponse,
  path: string,
  options: LogReadOptions,
  signal: AbortSignal,
): Promise<void> {
  const write = async (_: LogStream, bytes: Uint8Array): Promise<void> => {
    if (response.write(bytes)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        response.off("drain", done);
        response.off("close", done);
        resolve();
      };
      response.on("drain", done);
      response.on("close", done);
    });
  };
  await readLog(path, options, write, signal);
}
