import { execFileSync } from "node:child_process";
import {
  chmod,
  lchown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setVolumeOwnership } from "../../../src/engine/volumes/volume-ownership.ts";
import type { ForeignFiles, VolumeOwnership } from "../../../src/ports/foreign-files.ts";
import { testForeignFiles } from "../../kit/foreign-files-program.ts";
import { buildPod } from "../../kit/pods.ts";
import { VirtualClock } from "../../sim/virtual-clock.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Entry {
  readonly path: string;
  readonly type: "dir" | "file" | "symlink" | "fifo" | "hardlink";
  readonly mode?: string;
  readonly uid: number;
  readonly gid: number;
  readonly hardLinkTo?: string;
  readonly target?: string;
}

interface TreeInput {
  readonly kind: "tree";
  readonly root?: Entry;
  readonly entries?: readonly Entry[];
  readonly fsGroup?: number;
  readonly fsGroupChangePolicy?: string;
  readonly readOnly?: boolean;
  readonly missing?: boolean;
}

interface ProgressInput {
  readonly kind: "progress";
  readonly dir: string;
  readonly files: number;
  readonly millisecondsPerFile: number;
  readonly podUID: string;
}

const never = new AbortController().signal;

/** One helper is enough for all of them. */
let foreignFiles: ForeignFiles | undefined;

export const volumeOwnership: VectorDomain = vectorDomain<TreeInput | ProgressInput>(
  "volume-ownership",
  (input) => (input.kind === "tree" ? runTree(input) : runProgress(input)),
  comparable,
);

/** The text about a missing volume is Go's; only its end is compared. */
function comparable(value: unknown): unknown {
  const { error, ...rest } = value as { readonly error?: string };
  const isAbsent = error?.includes("no such file or directory") === true;
  return { ...rest, error: isAbsent ? "absent" : (error ?? "") };
}

async function runTree(input: TreeInput): Promise<object> {
  const { root, entries = [], fsGroup, fsGroupChangePolicy, readOnly = false } = input;
  const folder = await mkdtemp(join(tmpdir(), "volume-ownership-"));
  const path = join(folder, "vol");
  try {
    if (root !== undefined) {
      await make(path, root, path);
      for (const entry of entries) await make(join(path, entry.path), entry, path);
      // Making entries changes nothing of these, but a hard link shares what the last one sets.
      await own(path, root);
    }
    const clock = new VirtualClock();
    const events = { record: () => undefined };
    foreignFiles ??= testForeignFiles();
    const deps = { foreignFiles, events, clock };
    const volume = { pod: buildPod({}), path, fsGroup, fsGroupChangePolicy, readOnly };
    const result = await setVolumeOwnership(deps, volume, never);
    const left = root === undefined ? [] : await list(path, "");
    const report = left.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    return { entries: report, error: result.ok ? undefined : result.error };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function make(path: string, entry: Entry, root: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  switch (entry.type) {
    case "dir":
      await mkdir(path);
      break;
    case "file":
      await writeFile(path, "");
      break;
    case "fifo":
      execFileSync("mkfifo", [path]);
      break;
    case "symlink":
      await symlink(entry.target ?? "", path);
      break;
    case "hardlink":
      await link(join(root, entry.hardLinkTo ?? ""), path);
      return;
  }
  await own(path, entry);
}

async function own(path: string, { type, mode = "0755", uid, gid }: Entry): Promise<void> {
  await lchown(path, uid, gid);
  if (type !== "symlink") await chmod(path, Number.parseInt(mode, 8));
}

interface Left {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  readonly mode?: string;
}

async function list(root: string, below: string): Promise<readonly Left[]> {
  const path = join(root, below);
  const info = await lstat(path);
  const { uid, gid } = info;
  const mode = (info.mode & 0o7777).toString(8).padStart(4, "0");
  const shown = below === "" ? "." : below;
  const own: Left = info.isSymbolicLink()
    ? { path: shown, uid, gid }
    : { path: shown, uid, gid, mode };
  if (!info.isDirectory()) return [own];
  const inner: Left[] = [];
  for (const name of await readdir(path)) inner.push(...(await list(root, join(below, name))));
  return [own, ...inner];
}

async function runProgress(input: ProgressInput): Promise<object> {
  const { dir, files, millisecondsPerFile, podUID } = input;
  const clock = new VirtualClock();
  const events: unknown[] = [];
  const changeOwnership = async (
    _: string,
    { onProcessed }: VolumeOwnership,
    signal: AbortSignal,
  ): Promise<void> => {
    // The volume's own folder is one of them.
    for (let processed = 1; processed <= files + 1; processed += 1) {
      onProcessed?.(processed);
      await clock.sleep(millisecondsPerFile, signal);
    }
  };
  const deps = {
    clock,
    foreignFiles: { changeOwnership },
    events: {
      record: (_: unknown, event: object) =>
        void events.push({ at: clock.monotonicMs() / 1000, ...event }),
    },
  };
  const pod = buildPod({ metadata: { uid: podUID } });
  const volume = { pod, path: dir, fsGroup: 1, fsGroupChangePolicy: undefined, readOnly: false };
  const result = await clock.run(setVolumeOwnership(deps, volume, never));
  return { events, error: result.ok ? undefined : result.error };
}
