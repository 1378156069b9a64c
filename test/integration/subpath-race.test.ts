import { readlinkSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { OpenEntry } from "../../src/drivers/linux/foreign/open-entry.ts";
import { openSubPath } from "../../src/drivers/linux/foreign/subpath-walk.ts";
import { makeTestFolder } from "./support/test-folder.ts";

// What a container with the same volume can do: put a link in the place of the folder, over and over.
const swapper = `
  const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
  const { workerData: volume, parentPort } = require("node:worker_threads");
  const name = volume + "/name";
  // The other side makes a missing folder again, which may be in the way.
  const attempt = (action) => { try { action(); } catch {} };
  for (let swaps = 0, round = 0; swaps < 100_000; round++) {
    const spare = volume + "/spare" + round;
    attempt(() => renameSync(name, spare));
    attempt(() => { symlinkSync("../outside", name); swaps++; });
    attempt(() => unlinkSync(name));
    attempt(() => renameSync(spare, name));
  }
  parentPort.postMessage("done");
`;

let folder: string;
let volume: string;

beforeEach(async () => {
  folder = makeTestFolder("subpath");
  volume = join(folder, "volume");
  await mkdir(volume);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test("nothing outside is reached while a folder is swapped for a link that leads out", async () => {
  await mkdir(join(volume, "name/below"), { recursive: true });
  await mkdir(join(folder, "outside/below"), { recursive: true });
  const worker = new Worker(swapper, { eval: true, workerData: volume });
  const done = new AbortController();
  worker.once("message", () => done.abort());
  let opened = 0;
  while (!done.signal.aborted) {
    // Lets the message of the other thread in.
    await setImmediate();
    let entry: OpenEntry;
    try {
      entry = openSubPath(volume, "name/below", { makesFolders: true });
    } catch {
      continue;
    }
    expect(readlinkSync(entry.path)).not.toContain("outside");
    entry[Symbol.dispose]();
    opened += 1;
  }
  expect(opened).toBeGreaterThan(0);
  expect(await readdir(join(folder, "outside"))).toEqual(["below"]);
  expect(await readdir(join(folder, "outside/below"))).toEqual([]);
  await worker.terminate();
});
