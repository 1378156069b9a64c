import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createNodeBy } from "./create-node.ts";

let folder: string;
let temporary: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "create-node-"));
  temporary = join(folder, "t");
  await mkdir(temporary);
  vi.stubEnv("TMPDIR", temporary);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

test("a node whose start is aborted while its folder is made is not started, and leaves nothing", async () => {
  const program = join(folder, "program.mjs");
  await writeFile(
    program,
    `process.on("message", ({ kind }) => {
       if (kind === "start") process.send({ kind: "ready" });
       else process.send({ kind: "ended", hasRemoved: true }, () => process.exit());
     });`,
  );
  const aborting = new AbortController();
  const reason = new Error("changed my mind");
  const starting = createNodeBy(program, { kind: "simulated", signal: aborting.signal });
  aborting.abort(reason);
  await expect(starting).rejects.toBe(reason);
  expect(await readdir(temporary)).toEqual([]);
});

test("a folder that cannot be made is an error of the library, which names it", async () => {
  const dataDir = join(folder, "file");
  await writeFile(dataDir, "");
  await expect(createNodeBy("none", { kind: "real", dataDir })).rejects.toMatchObject({
    name: "BerthError",
    code: "start-failed",
    message: expect.stringMatching(/^dataDir: cannot be used: E.*file/),
  });
  vi.stubEnv("TMPDIR", join(folder, "absent"));
  await expect(createNodeBy("none", { kind: "simulated" })).rejects.toMatchObject({
    code: "start-failed",
    message: expect.stringMatching(/absent.*set TMPDIR/),
  });
});
