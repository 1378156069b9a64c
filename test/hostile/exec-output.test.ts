import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import type { ExecClientReport } from "./support/exec-client.ts";

const run = promisify(execFile);
const probes = 100;
/** The most that containerd lets a command print. */
const outputBytes = 16 * 1024 * 1024 - 64;

/** A runtime in which every command prints as much as it can; nothing of it is held here. */
async function serveLongOutputs(socket: string): Promise<void> {
  const server = createServer();
  server.on("stream", (stream) => {
    stream.respond(
      { ":status": 200, "content-type": "application/grpc" },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.on("error", () => undefined);
    stream.resume();
    Readable.from(answer()).pipe(stream);
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => {
    server.listen(socket, resolve);
  });
}

/** ExecSyncResponse: field 1 is stdout, field 3 the exit code. */
function* answer(): Iterable<Buffer> {
  const length = [0, 7, 14, 21].map(
    (bits) => ((outputBytes >>> bits) & 127) | (bits < 21 ? 128 : 0),
  );
  const begin = Buffer.from([10, ...length]);
  const end = Buffer.from([24, 0]);
  const header = Buffer.alloc(5);
  header.writeUInt32BE(begin.length + outputBytes + end.length, 1);
  yield Buffer.concat([header, begin]);
  const chunk = Buffer.alloc(64 * 1024, "x");
  for (let left = outputBytes; left > 0; left -= chunk.length) {
    yield chunk.subarray(0, Math.min(left, chunk.length));
  }
  yield end;
}

test("a hundred exec probes that print 16 MiB each are cut while they arrive", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-exec-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const socket = join(folder, "cri.sock");
  await serveLongOutputs(socket);
  const command = ["tools/run.mjs", "test/hostile/support/exec-client.ts", socket, String(probes)];
  const { stdout } = await run(process.execPath, command, { timeout: 200_000 });
  const report = JSON.parse(stdout) as ExecClientReport;
  expect(report.results).toEqual(["success"]);
  expect(report.longestOutput).toBe(10 * 1024);
  expect(report.maxRssMiB).toBeLessThan(500);
});
