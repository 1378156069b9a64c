import { expect, test } from "vitest";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { SimForeignFiles } from "../../drivers/sim/sim-foreign-files.ts";
import { simDisk } from "../../drivers/sim/sim-host.ts";
import { SimMounts } from "../../drivers/sim/sim-mounts.ts";
import { SimPayloadFiles } from "../../drivers/sim/sim-payload-files.ts";
import { simCommands, simDevices } from "../../drivers/sim/sim-storage.ts";
import { mapDevice } from "./map-block-device.ts";

test("the link of a pod to its device is never gone while it is renewed", async () => {
  const removed: string[] = [];
  class WatchedFiles extends MemoryFiles {
    override async removeEntry(path: string): Promise<void> {
      removed.push(path);
      await super.removeEntry(path);
    }
  }
  const files = new WatchedFiles();
  const mounts = new SimMounts();
  const foreignFiles = new SimForeignFiles({
    payloads: new SimPayloadFiles(),
    mounts,
    readEnd: async () => undefined,
    removeTree: (path) => files.removeTree(path),
    disk: () => simDisk(0),
  });
  const deps = { devices: simDevices, files, foreignFiles, mounts, commands: simCommands };
  const link = { mapPath: "/pods/uid/volumeDevices/csi", name: "pv", isBind: false };
  const { signal } = new AbortController();
  for (const device of ["/dev/old", "/dev/new"]) {
    expect(await mapDevice(deps, link, device, signal)).toEqual({ ok: true, value: undefined });
  }
  expect(files.links.get("/pods/uid/volumeDevices/csi/pv")).toBe("/dev/new");
  expect(removed).toEqual([]);
});
