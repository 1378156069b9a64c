import { expect, test } from "vitest";
import { checkpointRefusal } from "./checkpoint-limits.ts";

const folder = "/var/lib/kubelet/checkpoints";
const gib = 2 ** 30;

test.each([
  ["an empty folder", { count: 0, bytes: 0, diskBytes: 100 * gib }, undefined],
  ["one less than the limit", { count: 99, bytes: 9 * gib, diskBytes: 500 * gib }, undefined],
  [
    "a hundred archives",
    { count: 100, bytes: 100 },
    `${folder} holds 100 archives, and 100 is the limit: remove those that are no longer needed`,
  ],
  [
    "ten gibibytes",
    { count: 3, bytes: 10 * gib, diskBytes: 500 * gib },
    `the archives in ${folder} take 10.0 GiB, and 10.0 GiB is the limit: remove those that are no longer needed`,
  ],
  [
    "a tenth of a small disk",
    { count: 3, bytes: gib, diskBytes: 10 * gib },
    `the archives in ${folder} take 1.0 GiB, and 1.0 GiB is the limit: remove those that are no longer needed`,
  ],
  ["a disk of unknown size", { count: 3, bytes: 9 * gib }, undefined],
])("%s", (_, held, message) => {
  expect(checkpointRefusal({ folder, ...held })?.message).toBe(message);
});
