import { expect, test } from "vitest";
import type { ImageFsInfoResponse } from "../../../model/generated/cri.ts";
import { readFsLayout, readImageFs } from "./image-fs.ts";

const { signal } = new AbortController();

/** A machine with folders on devices. */
function machine(devices: Readonly<Record<string, string>>, info: ImageFsInfoResponse) {
  return {
    runtime: { imageFsInfo: () => Promise.resolve(info) },
    host: {
      fileSystem: (path: string) => {
        const device = devices[path];
        if (device === undefined) return Promise.resolve(undefined);
        const bytes = { availableBytes: 1, capacityBytes: 2, usedBytes: 1 };
        return Promise.resolve({ timeMs: 0, device, ...bytes, inodes: 2, inodesFree: 1 });
      },
    },
  };
}

const images = [{ fsId: { mountpoint: "/images" } }];
const containers = [{ fsId: { mountpoint: "/containers" } }];

test.each([
  ["all on one disk", { "/data": "a", "/images": "a" }, false, false],
  ["images on another", { "/data": "a", "/images": "b" }, true, false],
  ["containers apart", { "/data": "a", "/images": "b", "/containers": "a" }, true, true],
])("%s", async (_, devices, dedicatedImageFs, splitContainerFs) => {
  const deps = machine(devices, { imageFilesystems: images, containerFilesystems: containers });
  expect(await readFsLayout(deps, "/data", signal)).toEqual({ dedicatedImageFs, splitContainerFs });
});

test("a runtime that does not tell where images are is asked again", async () => {
  const deps = machine({ "/data": "a" }, {});
  await expect(readFsLayout(deps, "/data", signal)).rejects.toThrow("not known");
  await expect(readImageFs(deps, signal)).rejects.toThrow("does not tell");
});
