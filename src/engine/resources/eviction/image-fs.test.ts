import { expect, test } from "vitest";
import type { ImageFsInfoResponse } from "../../../model/generated/cri.ts";
import { ImageFileSystems } from "./image-fs.ts";

const { signal } = new AbortController();

/** A machine with folders on devices. */
function machine(devices: Readonly<Record<string, string>>, info: ImageFsInfoResponse) {
  const host = {
    fileSystem: (path: string) => {
      const device = devices[path];
      if (device === undefined) return Promise.resolve(undefined);
      const bytes = { availableBytes: 1, capacityBytes: 2, usedBytes: 1 };
      return Promise.resolve({ timeMs: 0, device, ...bytes, inodes: 2, inodesFree: 1 });
    },
  };
  return new ImageFileSystems({ imageFsInfo: () => Promise.resolve(info) }, host, "/data");
}

const images = [{ fsId: { mountpoint: "/images" } }];
const containers = [{ fsId: { mountpoint: "/containers" } }];

test.each([
  ["all on one disk", { "/data": "a", "/images": "a" }, false, false],
  ["images on another", { "/data": "a", "/images": "b" }, true, false],
  ["containers apart", { "/data": "a", "/images": "b", "/containers": "a" }, true, true],
])("%s", async (_, devices, dedicatedImageFs, splitContainerFs) => {
  const disks = machine(devices, { imageFilesystems: images, containerFilesystems: containers });
  expect(await disks.layout(signal)).toEqual({ dedicatedImageFs, splitContainerFs });
});

test("a runtime that does not report where images are is an error", async () => {
  const disks = machine({ "/data": "a" }, {});
  await expect(disks.layout(signal)).rejects.toThrow("not known");
  await expect(disks.imageUsage(signal)).rejects.toThrow("does not report");
});
