import { expect, test } from "vitest";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import type { Log } from "../../ports/log.ts";
import { StatusCheckpoints } from "./status-checkpoints.ts";

const log: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

test("nobody is told of a status that the next agent would not know", async () => {
  const files = new MemoryFiles();
  const checkpoints = new StatusCheckpoints(files, "/statuses", log);
  const onDisk: (string | undefined)[] = [];
  const told = new Promise<void>((resolve) => {
    checkpoints.save("a", { phase: "Running" }, () => {
      expect(checkpoints.written("a")).toEqual({ phase: "Running" });
      void files.readText("/statuses/a.json").then((text) => onDisk.push(text));
      resolve();
    });
  });
  expect(checkpoints.written("a")).toBeUndefined();
  await told;
  await checkpoints.flush();
  expect(onDisk).toEqual(['{"phase":"Running"}']);
  const next = new StatusCheckpoints(files, "/statuses", log);
  await next.load();
  expect(next.written("a")).toEqual({ phase: "Running" });
});

test("the status that a pod has already is no news", async () => {
  const checkpoints = new StatusCheckpoints(new MemoryFiles(), "/statuses", log);
  let told = 0;
  for (let round = 0; round < 2; round++) {
    checkpoints.save("a", { phase: "Running" }, () => {
      told += 1;
    });
    await checkpoints.flush();
  }
  expect(told).toBe(1);
});

test("a disk that takes nothing keeps nobody from being told", async () => {
  const files = new MemoryFiles();
  files.writeFile = () => Promise.reject(new Error("full"));
  const checkpoints = new StatusCheckpoints(files, "/statuses", log);
  const told: string[] = [];
  checkpoints.save("a", { phase: "Running" }, () => told.push("a"));
  checkpoints.save("b", { phase: "Running" }, () => told.push("b"));
  await checkpoints.flush();
  expect(told).toEqual(["a", "b"]);
});

test("a pod that comes back under its UID after its end begins without the status of its last life", () => {
  const checkpoints = new StatusCheckpoints(new MemoryFiles(), "/statuses", log);
  const pod = {
    metadata: { name: "web", namespace: "default", uid: "a" },
    spec: { containers: [] },
  };
  checkpoints.save("a", { phase: "Running" }, () => undefined);
  expect(checkpoints.restore(pod).status?.phase).toBe("Running");
  checkpoints.keepOnly(new Set());
  expect(checkpoints.restore(pod)).toBe(pod);
  checkpoints.save("a", { phase: "Pending" }, () => undefined);
  expect(checkpoints.restore(pod).status?.phase).toBe("Pending");
});

test("a pod that comes back under its UID while it is forgotten keeps its new status", async () => {
  const checkpoints = new StatusCheckpoints(new MemoryFiles(), "/statuses", log);
  checkpoints.save("a", { phase: "Failed" }, () => undefined);
  const forgotten = checkpoints.remove("a");
  checkpoints.save("a", { phase: "Pending" }, () => undefined);
  await forgotten;
  await checkpoints.flush();
  expect(checkpoints.written("a")).toEqual({ phase: "Pending" });
});

test("a pod whose status cannot be removed stays known until it can", async () => {
  const files = new FailingFiles();
  const checkpoints = new StatusCheckpoints(files, "/statuses", log);
  checkpoints.save("a", { phase: "Failed" }, () => undefined);
  await checkpoints.flush();
  files.isBroken = true;
  await expect(checkpoints.remove("a")).rejects.toThrow("EIO");
  expect(checkpoints.uids).toEqual(["a"]);
  files.isBroken = false;
  await checkpoints.remove("a");
  expect(checkpoints.uids).toEqual([]);
  expect(await files.list("/statuses")).toEqual([]);
});

test("a status that could not be written is written later", async () => {
  const files = new FailingFiles();
  const checkpoints = new StatusCheckpoints(files, "/statuses", log);
  files.isBroken = true;
  checkpoints.save("a", { phase: "Running" }, () => undefined);
  await checkpoints.flush();
  expect(await files.list("/statuses")).toEqual([]);
  files.isBroken = false;
  checkpoints.retry();
  await checkpoints.flush();
  expect(await files.readText("/statuses/a.json")).toBe('{"phase":"Running"}');
});

class FailingFiles extends MemoryFiles {
  isBroken = false;

  override async writeFile(path: string, data: Uint8Array | string): Promise<void> {
    if (this.isBroken) throw new Error("EIO");
    await super.writeFile(path, data);
  }

  override async removeFile(path: string): Promise<void> {
    if (this.isBroken) throw new Error("EIO");
    await super.removeFile(path);
  }
}
