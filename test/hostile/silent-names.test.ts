import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import type { SilentNamesReport } from "./support/silent-names.ts";

const run = promisify(execFile);

/** In namespaces of its own: the machine's resolv.conf stays as it is. */
async function runWithSilentServer(): Promise<SilentNamesReport> {
  const folder = mkdtempSync(join(tmpdir(), "berth-silent-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "resolv.conf"), "nameserver 127.0.0.1\n");
  writeFileSync(join(folder, "hosts"), "127.0.0.1 localhost\n192.0.2.7 api.test\n");
  const script =
    'mount --bind "$1/resolv.conf" /etc/resolv.conf && mount --bind "$1/hosts" /etc/hosts && ' +
    'ip link set lo up && exec "$2" tools/run.mjs test/hostile/support/silent-names.ts';
  const command = ["--mount", "--net", "sh", "-c", script, "sh", folder, process.execPath];
  const { stdout } = await run("unshare", command, { timeout: 120_000 });
  return JSON.parse(stdout) as SilentNamesReport;
}

test("names of pods that no server answers do not hold up the agent's own lookups", async () => {
  const report = await runWithSilentServer();
  expect(report.ownAddress).toBe("192.0.2.7");
  expect(report.endedBeforeOwnLookup).toBe(0);
  expect(report.outputs.slice(0, 4)).toEqual([
    "dial tcp: lookup tcp1-0.test: i/o timeout",
    "dial tcp: lookup tcp2-0.test: i/o timeout",
    'Get "http://http1-0.test:80": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    'Get "http://http2-0.test:80": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
  ]);
  expect(report.descriptorsLeft).toBeLessThan(10);
});
