import { expect, test } from "vitest";
import { testPodChanges } from "../../../test/kit/pod-parts.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { StatusCheckpoints } from "./status-checkpoints.ts";

const pod = testPod({ containers: [{ name: "web" }] });
const { uid } = pod.metadata;
const file = `/statuses/${uid}.json`;

/** An agent that wants the pod, and a watcher. */
function world(files: MemoryFiles = new MemoryFiles()) {
  const table = new PodTable();
  new PodRegistry(table).set(pod);
  const changes = testPodChanges(table);
  const checkpoints = new StatusCheckpoints({
    table,
    files,
    folder: "/statuses",
    podsFolder: "/pods",
    log: silentLog,
    changes,
  });
  const shown: (string | undefined)[] = [];
  changes.watch(
    (change) => void shown.push(change.pod.status?.phase),
    new AbortController().signal,
  );
  const written = (): PodStatus | undefined => table.get(uid)?.checkpoint?.written;
  return { files, table, changes, checkpoints, shown, written };
}

test("no status is shown that the next agent would not know", async () => {
  const { files, changes, checkpoints, written } = world();
  const onDisk: Promise<string | undefined>[] = [];
  changes.watch(() => onDisk.push(files.readText(file)), new AbortController().signal);
  checkpoints.save(uid, { phase: "Running" });
  expect(written()).toBeUndefined();
  expect(changes.show(pod).status?.phase).toBe("Pending");
  await checkpoints.flush();
  expect(changes.show(pod).status?.phase).toBe("Running");
  expect(await Promise.all(onDisk)).toEqual(['{"phase":"Running"}']);
  const next = world(files);
  await next.checkpoints.load();
  expect(next.written()).toEqual({ phase: "Running" });
});

test("an equal status is not shown again", async () => {
  const { checkpoints, shown } = world();
  for (let round = 0; round < 2; round++) {
    checkpoints.save(uid, { phase: "Running" });
    await checkpoints.flush();
  }
  expect(shown).toEqual(["Running"]);
});

test("a disk that takes nothing keeps no status from being shown", async () => {
  const files = new FailingFiles();
  files.isBroken = true;
  const { checkpoints, shown } = world(files);
  checkpoints.save(uid, { phase: "Running" });
  await checkpoints.flush();
  expect(shown).toEqual(["Running"]);
});

test("the agent inherits statuses until it keeps its own", async () => {
  const { files, checkpoints } = world();
  checkpoints.save(uid, { phase: "Running" });
  await checkpoints.flush();
  await files.writeFile("/statuses/torn.json", "{");
  await files.writeFile("/statuses/torn.json.tmp", "{");
  const next = world(files);
  await next.checkpoints.load();
  expect(next.checkpoints.inherited(uid)).toEqual({ phase: "Running" });
  expect(next.checkpoints.restore(pod).status).toEqual({ phase: "Running" });
  expect(next.checkpoints.inherited(podUid("torn"))).toBeUndefined();
  next.checkpoints.save(uid, { phase: "Running" });
  expect(next.checkpoints.inherited(uid)).toBeUndefined();
  expect(next.checkpoints.restore(pod).status).toEqual({ phase: "Running" });
});

test("a pod that comes back under its UID after its end begins without the status of its last life", () => {
  const { checkpoints } = world();
  checkpoints.save(uid, { phase: "Running" });
  expect(checkpoints.restore(pod).status?.phase).toBe("Running");
  checkpoints.endLife(uid);
  expect(checkpoints.restore(pod)).toBe(pod);
  checkpoints.save(uid, { phase: "Pending" });
  expect(checkpoints.restore(pod).status?.phase).toBe("Pending");
});

test("a pod that comes back under its UID while it is forgotten keeps its new status", async () => {
  const { files, checkpoints, written } = world();
  checkpoints.save(uid, { phase: "Failed" });
  const forgotten = checkpoints.remove(uid);
  checkpoints.save(uid, { phase: "Pending" });
  await forgotten;
  await checkpoints.flush();
  expect(written()).toEqual({ phase: "Pending" });
  expect(await files.readText(file)).toBe('{"phase":"Pending"}');
});

test("a status that is written while the file of the last life is removed stays on disk", async () => {
  const files = new SlowRemoval();
  const { checkpoints } = world(files);
  checkpoints.save(uid, { phase: "Failed" });
  await checkpoints.flush();
  const removed = checkpoints.remove(uid);
  await files.begun;
  checkpoints.save(uid, { phase: "Pending" });
  await checkpoints.flush();
  files.finish();
  await removed;
  await checkpoints.flush();
  expect(await files.readText(file)).toBe('{"phase":"Pending"}');
});

test("a pod whose status cannot be removed stays known until it can", async () => {
  const files = new FailingFiles();
  const { table, checkpoints } = world(files);
  checkpoints.save(uid, { phase: "Failed" });
  await checkpoints.flush();
  files.isBroken = true;
  await expect(checkpoints.remove(uid)).rejects.toThrow("EIO");
  expect(table.get(uid)?.checkpoint?.newest).toEqual({ phase: "Failed" });
  files.isBroken = false;
  await checkpoints.remove(uid);
  expect(table.get(uid)?.checkpoint).toBeUndefined();
  expect(await files.list("/statuses")).toEqual([]);
});

test("a status that could not be written is written later, and not shown again", async () => {
  const files = new FailingFiles();
  const { checkpoints, shown } = world(files);
  files.isBroken = true;
  checkpoints.save(uid, { phase: "Running" });
  await checkpoints.flush();
  expect(await files.list("/statuses")).toEqual([]);
  files.isBroken = false;
  checkpoints.retry();
  await checkpoints.flush();
  expect(await files.readText(file)).toBe('{"phase":"Running"}');
  expect(shown).toEqual(["Running"]);
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

/** A removal that takes effect when the test says so. */
class SlowRemoval extends MemoryFiles {
  finish: () => void = () => undefined;
  #begin: () => void = () => undefined;
  readonly begun = new Promise<void>((resolve) => {
    this.#begin = resolve;
  });

  override async removeFile(path: string): Promise<void> {
    const finished = new Promise<void>((resolve) => {
      this.finish = resolve;
    });
    this.#begin();
    await finished;
    await super.removeFile(path);
  }
}

test("a life that is over is over for the next agent too, until another one begins", async () => {
  const { files, checkpoints } = world();
  checkpoints.save(uid, { phase: "Running" });
  await checkpoints.flush();
  checkpoints.endLife(uid);
  await checkpoints.flush();
  const next = world(files);
  await next.checkpoints.load();
  expect(next.checkpoints.restore(pod).status).toEqual(pod.status);
  checkpoints.save(uid, { phase: "Running" });
  await checkpoints.flush();
  expect(await files.readText(file)).toBe('{"phase":"Running"}');
});

test("a checkpoint of containers that ran in a pod without a folder is of a life that is over", async () => {
  const files = new MemoryFiles();
  const ran = {
    name: "web",
    ready: false,
    restartCount: 0,
    image: "",
    imageID: "",
    containerID: "sim://1",
  };
  const first = world(files);
  first.checkpoints.save(uid, { phase: "Running", containerStatuses: [ran] });
  await first.checkpoints.flush();
  const removed = world(files);
  await removed.checkpoints.load();
  expect(removed.checkpoints.restore(pod).status).toEqual(pod.status);
  await files.ensureFolder(`/pods/${uid}`);
  const running = world(files);
  await running.checkpoints.load();
  expect(running.checkpoints.restore(pod).status?.phase).toBe("Running");
});
