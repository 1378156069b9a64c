import type { StorageError } from "../../src/core/storage/storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../../src/core/storage/volume-spec.ts";
import type {
  PodVolumeRequest,
  PodVolumeTarget,
  StoredVolume,
} from "../../src/engine/volumes/storage-plugin.ts";
import type { MountEntry } from "../../src/lib/mount-info.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";
import type { PersistentVolume, Volume } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { Commands } from "../../src/ports/commands.ts";
import type { FileKind, ForeignFiles, VolumeOwnership } from "../../src/ports/foreign-files.ts";
import type { HostFiles } from "../../src/ports/host-files.ts";
import type { Mounts, VolumeMount } from "../../src/ports/mounts.ts";
import type { PodEvents } from "../../src/ports/pod-events.ts";
import { VirtualClock } from "../sim/virtual-clock.ts";
import { MemoryTree, type TreeFile } from "./memory-tree.ts";

export const kubeletRoot = "/var/lib/kubelet";

interface CommandRule {
  /** Part of the command line. */
  readonly match: string;
  readonly exit?: number;
  readonly output?: string;
  readonly creates?: readonly TreeFile[];
}

/** The machine of a vector of volume-local, volume-nfs, volume-iscsi or volume-fc, and what is mounted there. */
export interface StoragePluginInput {
  readonly volume?: Volume;
  readonly persistentVolume?: PersistentVolume;
  readonly readOnly?: boolean;
  readonly pod: Pod;
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly files?: readonly TreeFile[];
  readonly commands?: readonly CommandRule[];
  readonly mounts?: readonly { readonly device: string; readonly path: string }[];
  /** Part of the target to the error. */
  readonly mountErrors?: Readonly<Record<string, string>>;
  readonly unmountErrors?: Readonly<Record<string, string>>;
  /** Whether it is fine to unmount what is not mounted. */
  readonly safeNotMounted?: boolean;
}

/** The ports of a storage plugin in memory. It counts everything that a step does. */
export class StoragePluginWorld {
  readonly tree: MemoryTree = new MemoryTree();
  readonly commands: Commands = { run: (argv) => this.#run(argv) };
  readonly mounts: Mounts = this.#newMounts();
  readonly files: HostFiles = newFiles(this.tree);
  readonly foreignFiles: ForeignFiles = newForeignFiles(this.tree);
  readonly events: PodEvents = {
    record: (_, { type, reason, message }) =>
      void this.#events.push(`${type} ${reason} ${message}`),
  };
  /** Run a step by `clock.run`: it moves time on as far as the step waits. */
  readonly clock: VirtualClock = new VirtualClock();
  readonly #input: StoragePluginInput;
  #stepMs = 0;
  #actions: unknown[] = [];
  #events: string[] = [];
  #mounted: { readonly device: string; readonly path: string }[];

  constructor(input: StoragePluginInput) {
    this.#input = input;
    this.#mounted = [...(input.mounts ?? [])];
    for (const file of input.files ?? []) this.tree.add(file);
    for (const { path } of this.#mounted) this.tree.makeFolder(path, 0o755);
  }

  /** Group and mode of a path, as the vectors write them; undefined when nothing is there. */
  ownerOf(path: string): { readonly gid: number; readonly mode: string } | undefined {
    const entry = this.tree.find(path);
    if (entry === undefined) return undefined;
    return { gid: entry.gid, mode: entry.mode.toString(8).padStart(4, "0") };
  }

  get ports(): Pick<
    StoragePluginWorld,
    "files" | "foreignFiles" | "mounts" | "commands" | "events" | "clock"
  > {
    const { files, foreignFiles, mounts, commands, events, clock } = this;
    return { files, foreignFiles, mounts, commands, events, clock };
  }

  get spec(): VolumeSpec {
    const { volume, persistentVolume, readOnly = false } = this.#input;
    if (volume !== undefined) return { source: "inline", volume };
    return { source: "persistentVolume", persistentVolume: persistentVolume ?? {}, readOnly };
  }

  get target(): PodVolumeTarget {
    return { podUid: this.#input.pod.metadata.uid, volumeSpecName: volumeSpecName(this.spec) };
  }

  /** A request to set the volume up for the pod of the vector. */
  podVolume(step: {
    readonly devicePath?: string;
    readonly deviceMountPath?: string;
    readonly seLinuxLabel?: string;
  }): PodVolumeRequest {
    const { pod } = this.#input;
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    return {
      spec: this.spec,
      pod,
      devicePath: step.devicePath ?? "",
      deviceMountPath: step.deviceMountPath ?? "",
      fsGroup,
      fsGroupChangePolicy,
      isRemount: false,
      reconstructed: false,
      seLinuxLabel: step.seLinuxLabel,
    };
  }

  /** What was done since the last call, and what is there now. */
  takeStep(): Readonly<Record<string, unknown>> {
    const nowMs = this.clock.monotonicMs();
    const elapsedMs = nowMs - this.#stepMs;
    const step = {
      actions: this.#actions,
      events: this.#events,
      files: this.tree.listBelow(kubeletRoot),
      mounts: this.#mounted.map(({ device, path }) => `${device} ${path}`).toSorted(),
      sysfsWrites: this.tree.takeWrites(),
      ...(elapsedMs > 0 ? { elapsedSeconds: Math.floor(elapsedMs / 1000) } : {}),
    };
    this.#actions = [];
    this.#events = [];
    this.#stepMs = nowMs;
    return step;
  }

  async #run(argv: readonly string[]): Promise<{ exitCode: number; output: string }> {
    this.#actions.push({ exec: argv });
    const text = argv.join(" ");
    const rule = this.#input.commands?.find(({ match }) => text.includes(match));
    for (const file of rule?.creates ?? []) this.tree.add(file);
    return { exitCode: rule?.exit ?? 0, output: rule?.output ?? "" };
  }

  #newMounts(): Mounts {
    return {
      list: async () => [wholeMachine, ...this.#mounted.map(mountEntry)],
      listBelow: unused,
      mountTmpfs: unused,
      mountHugePages: unused,
      unmount: unused,
      ignoresUnmounted: async () => this.#input.safeNotMounted === true,
      isMountPoint: async (path) =>
        this.tree.find(path) !== undefined && this.#mounted.some((mount) => mount.path === path),
      mount: async (mount) => this.#mount(mount),
      unmountVolume: async (target) => this.#unmount(target),
    };
  }

  #mount({
    source,
    target,
    fileSystem,
    options,
    withoutSystemd,
  }: VolumeMount): Result<void, string> {
    this.#actions.push({
      mount: { source, target, fsType: fileSystem, options, withoutSystemd },
    });
    const error = errorFor(this.#input.mountErrors, target);
    if (error !== undefined) return err(error);
    const isBind = options.includes("bind");
    const below = isBind ? this.#mounted.find(({ path }) => path === source) : undefined;
    this.#mounted.push({ device: below?.device ?? source, path: target });
    return ok(undefined);
  }

  #unmount(target: string): Result<void, string> {
    this.#actions.push({ unmount: target });
    const error = errorFor(this.#input.unmountErrors, target);
    if (error !== undefined) return err(error);
    this.#mounted = this.#mounted.filter(({ path }) => path !== target);
    return ok(undefined);
  }
}

const wholeMachine: MountEntry = {
  ...mountEntry({ device: "/", path: "/" }, -1),
  root: "/",
};

/** A folder that is mounted elsewhere is a part of the machine's one file system; anything else is one of its own. */
function mountEntry(
  { device, path }: { readonly device: string; readonly path: string },
  index: number,
): MountEntry {
  const isFolder = device.startsWith("/") && !device.startsWith("/dev/");
  return {
    id: `${index + 1}`,
    parentId: "0",
    device: isFolder ? "8:1" : device,
    root: isFolder ? device : "/",
    mountPoint: path,
    options: "rw",
    optionalFields: [],
    fileSystem: "",
    source: device,
    superOptions: "rw",
  };
}

function errorFor(
  errors: Readonly<Record<string, string>> | undefined,
  target: string,
): string | undefined {
  return Object.entries(errors ?? {}).find(([part]) => target.includes(part))?.[1];
}

function unused(): never {
  throw new Error("not part of these vectors");
}

/** What upstream knows of a volume before it tries to set it up says nothing once that has failed. */
export function withoutFailedVolumes(value: unknown): unknown {
  const { steps } = value as { readonly steps: readonly Readonly<Record<string, unknown>>[] };
  return {
    steps: steps.map(({ path, attributes, ...step }) =>
      "error" in step ? step : { ...step, path, attributes },
    ),
  };
}

export function errorReport(result: Result<unknown, StorageError>): { readonly error?: string } {
  return result.ok ? {} : { error: result.error.message };
}

/** A volume as set up, or the error, in the words of the vectors. */
export function setUpReport(
  world: StoragePluginWorld,
  result: Result<StoredVolume, StorageError>,
): Readonly<Record<string, unknown>> {
  if (!result.ok) return errorReport(result);
  const { path, ...attributes } = result.value;
  return { path, attributes, target: world.ownerOf(path) };
}

function newFiles(tree: MemoryTree): HostFiles {
  const write = async (path: string, data: Uint8Array | string): Promise<void> =>
    tree.write(path, typeof data === "string" ? data : new TextDecoder().decode(data));
  return {
    ensureFolder: async (path, mode) => tree.makeFolder(path, mode),
    writeFile: write,
    writeBriefly: write,
    overwrite: write,
    readTail: unused,
    readText: async (path) => tree.read(path),
    realPath: async (path) => tree.realPath(path),
    list: async (path) => tree.list(path) ?? [],
    symlink: async (target, path) => tree.add({ path, symlink: target }),
    removeFile: async (path) => tree.remove(path),
    removeEntry: async (path) => tree.remove(path),
    appendLine: unused,
  };
}

function newForeignFiles(tree: MemoryTree): ForeignFiles {
  return {
    kindOf: async (path) => tree.find(path)?.kind as FileKind | undefined,
    isDeviceHeld: async () => false,
    groupOf: async (path) => tree.find(path)?.gid,
    realPath: async (path) => tree.realPath(path),
    makeFolder: async (path) => tree.makeFolder(path, 0o755),
    makeFile: async (path) => tree.add({ path }),
    bindSubPath: unused,
    readFile: unused,
    readEnd: unused,
    changeOwnership: async (folder, ownership) => changeOwnership(tree, folder, ownership),
    measure: unused,
    removeTree: async (path) => tree.removeTree(path),
  };
}

/** The mounts are empty in these vectors: a volume is its folder. */
function changeOwnership(tree: MemoryTree, folder: string, ownership: VolumeOwnership): void {
  const entry = tree.find(folder);
  if (entry === undefined) throw new Error(`lstat ${folder}: no such file or directory`);
  const { groupId, readOnly, onlyOnMismatch } = ownership;
  const needed = (readOnly ? 0o440 : 0o660) | 0o2110;
  if (onlyOnMismatch && entry.gid === groupId && (entry.mode & needed) === needed) return;
  entry.gid = groupId;
  entry.mode |= needed;
}
