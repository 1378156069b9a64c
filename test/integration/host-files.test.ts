import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { hostFiles } from "../../src/drivers/linux/host-files.ts";
import { testForeignFiles } from "../kit/foreign-files-program.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const files = testForeignFiles();
const never = new AbortController().signal;

test("a tree with a mount point in it is left alone, also when it is named through a link", async () => {
  const folder = makeTestFolder("mount");
  const mount = `${folder}/tree/with space/mount`;
  mkdirSync(mount, { recursive: true });
  symlinkSync(folder, `${folder}-link`);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", mount]);
  try {
    writeFileSync(`${mount}/data`, "precious");
    for (const path of [`${folder}/tree`, `${folder}-link/tree`]) {
      await expect(files.removeTree(path, never)).rejects.toThrow(`${mount} is a mount point`);
    }
    expect(existsSync(`${mount}/data`)).toBe(true);
  } finally {
    execFileSync("umount", [mount]);
    await files.removeTree(`${folder}/tree`, never);
    expect(existsSync(`${folder}/tree`)).toBe(false);
    rmSync(folder, { recursive: true });
    rmSync(`${folder}-link`);
  }
});

test("a file that was made huge is refused, and only as much of it is read as is asked for", async () => {
  const folder = makeTestFolder("huge");
  const path = `${folder}/hosts`;
  try {
    writeFileSync(path, "127.0.0.1 localhost");
    // Without taking any room on the disk.
    truncateSync(path, 4 * 1024 ** 3);
    await expect(hostFiles.readText(path)).rejects.toThrow(`${path} is larger than`);
    expect(await hostFiles.readTail(path, 20)).toHaveLength(20);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
