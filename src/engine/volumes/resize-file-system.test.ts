import { expect, test } from "vitest";
import type { Commands } from "../../ports/commands.ts";
import { needsResize, resizeFileSystem } from "./resize-file-system.ts";

const never = new AbortController().signal;
const device = { devicePath: "/dev/sdx", deviceMountPath: "/mnt/x" };

/** Answers by the program's name; one that has no answer succeeds without output. */
function programs(
  outputs: Readonly<Record<string, string>>,
): Commands & { readonly ran: string[] } {
  const ran: string[] = [];
  const run: Commands["run"] = async ([program = "", option = ""]) => {
    ran.push(program);
    const output = outputs[`${program} ${option}`] ?? outputs[program] ?? "";
    return { exitCode: 0, output };
  };
  return { ran, run };
}

test.each([
  ["ext4", "resize2fs"],
  ["xfs", "xfs_growfs"],
  ["btrfs", "btrfs"],
])("a file system of type %s grows by %s", async (format, program) => {
  const commands = programs({ blkid: `TYPE=${format}\n` });
  expect(await resizeFileSystem(commands, device, never)).toEqual({ ok: true, value: true });
  expect(commands.ran).toEqual(["blkid", program]);
});

test("a disk without a file system does not grow: mkfs takes all of it", async () => {
  const commands = programs({ blkid: "\n" });
  expect(await resizeFileSystem(commands, device, never)).toEqual({ ok: true, value: false });
});

test.each([
  ["4294971392", false],
  ["4294971393", true],
])("btrfs on a device of %s bytes needs to grow: %s", async (bytes, isNeeded) => {
  const commands = programs({
    blkid: "TYPE=btrfs\n",
    "blockdev --getro": "0\n",
    "blockdev --getsize64": `${bytes}\n`,
    btrfs: "sectorsize\t\t4096\ntotal_bytes\t\t4294967296\n",
  });
  expect(await needsResize(commands, device, never)).toEqual({ ok: true, value: isNeeded });
});
