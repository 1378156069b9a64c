import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { listenOnSocket } from "./unix-socket.ts";

test("what an agent left that was killed while it opened its socket goes with the next one", async () => {
  const folder = await mkdtemp(join(tmpdir(), "berth-socket-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "berth.sock");
  // It never listens, as one that is killed right there.
  const killed = createServer();
  killed.listen = () => killed;
  void listenOnSocket(killed, path);
  await expect.poll(() => readdir(folder)).toHaveLength(1);
  const next = createServer();
  onTestFinished(() => void next.close());
  await listenOnSocket(next, path);
  expect(await readdir(folder)).toEqual(["berth.sock"]);
});
