import { expect, test } from "vitest";
import { MemoryFiles } from "../drivers/sim/memory-files.ts";
import type { Log } from "../ports/log.ts";
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

test("a pod that comes back under its UID while it is forgotten keeps its new status", async () => {
  const checkpoints = new StatusCheckpoints(new MemoryFiles(), "/statuses", log);
  checkpoints.save("a", { phase: "Failed" }, () => undefined);
  const forgotten = checkpoints.remove("a");
  checkpoints.save("a", { phase: "Pending" }, () => undefined);
  await forgotten;
  await checkpoints.flush();
  expect(checkpoints.written("a")).toEqual({ phase: "Pending" });
});
