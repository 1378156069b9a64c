import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mountReferences } from "../../src/core/storage/mount-references.ts";
import { listBelow, mountPointAt, readMounts } from "../../src/drivers/linux/mount-table.ts";
import { errorText } from "../../src/lib/error-text.ts";
import { testForeignFiles } from "../kit/foreign-files-program.ts";

export interface DetectionInput {
  readonly kind: "mountPointDetection";
  readonly path: string;
  readonly setup: readonly {
    readonly op: "dir" | "file" | "tmpfs" | "bind" | "symlink";
    readonly path: string;
    readonly from?: string;
  }[];
}

const never = new AbortController().signal;

let foreignFiles: ReturnType<typeof testForeignFiles> | undefined;

/** The questions a plugin asks about a path, to real mounts below a folder of its own. */
export async function detectMountPoint({ path, setup }: DetectionInput): Promise<object> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "mount-point-detection-")));
  try {
    for (const step of setup) await make(root, step);
    foreignFiles ??= testForeignFiles();
    const asked = `${root}/${path}`;
    const real = await foreignFiles.realPath(asked, never);
    if (real === undefined) return unseen(await reasonOf(asked));
    const isMounted = (await mountPointAt(real)) !== undefined;
    const references = mountReferences(await readMounts(), real);
    const refs = references.ok ? references.value : [];
    return {
      isMountPoint: isMounted,
      isLikelyNotMountPoint: !isMounted,
      mountRefs: refs
        .filter((reference) => reference.startsWith(`${root}/`))
        .map((reference) => reference.replace(root, "/ROOT"))
        .toSorted(),
    };
  } finally {
    for (const { mountPoint } of await listBelow(root)) execFileSync("umount", [mountPoint]);
    await rm(root, { recursive: true });
  }
}

/** To a plugin it does not matter why nothing can be seen: the reason is asked for here. */
async function reasonOf(path: string): Promise<string> {
  try {
    await stat(path);
  } catch (error) {
    return /: (.*), stat/.exec(errorText(error))?.[1] ?? errorText(error);
  }
  throw new Error(`${path} can be seen`);
}

function unseen(reason: string): object {
  return {
    isMountPoint: false,
    isMountPointError: reason === "no such file or directory" ? "file does not exist" : reason,
    isLikelyNotMountPoint: true,
    isLikelyNotMountPointError: reason,
    mountRefs: [],
  };
}

async function make(
  root: string,
  { op, path, from = "" }: DetectionInput["setup"][number],
): Promise<void> {
  const target = join(root, path);
  switch (op) {
    case "dir":
      await mkdir(target);
      return;
    case "file":
      await writeFile(target, "");
      return;
    case "tmpfs":
      execFileSync("mount", ["-t", "tmpfs", "tmpfs", target]);
      return;
    case "bind":
      execFileSync("mount", ["--bind", join(root, from), target]);
      return;
    case "symlink":
      await symlink(from, target);
  }
}
