import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseLogTime } from "../../../src/model/log/log-time.ts";
import type { LogStream } from "../../../src/server/log-filter.ts";
import { readLog } from "../../../src/server/log-reader.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly file: string;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly since?: string;
  readonly timestamps?: boolean;
  readonly streams: "all" | LogStream;
}

export const criLogs: VectorDomain = vectorDomain<Input>("cri-logs", async (input) => {
  const folder = await mkdtemp(join(tmpdir(), "berth-cri-logs-"));
  try {
    const path = join(folder, "0.log");
    await writeFile(path, Buffer.from(input.file, "base64"));
    return await readAll(path, input);
  } finally {
    await rm(folder, { recursive: true });
  }
});

async function readAll(path: string, input: Input): Promise<unknown> {
  const written: { stream: LogStream; bytes: Uint8Array }[] = [];
  const options = {
    streams: input.streams,
    timestamps: input.timestamps ?? false,
    tailLines: input.tailLines,
    limitBytes: input.limitBytes,
    since: input.since === undefined ? undefined : parseLogTime(input.since),
  };
  const error = await readLog(
    path,
    options,
    (stream, bytes) => {
      written.push({ stream, bytes: Uint8Array.from(bytes) });
    },
    new AbortController().signal,
  ).then(
    () => undefined,
    (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)),
  );
  const text = (wanted: (stream: LogStream) => boolean) =>
    Buffer.concat(
      written.filter(({ stream }) => wanted(stream)).map(({ bytes }) => bytes),
    ).toString("base64");
  return {
    stdout: text((stream) => stream === "stdout"),
    stderr: text((stream) => stream === "stderr"),
    combined: text(() => true),
    ...(error === undefined ? {} : { error }),
  };
}
