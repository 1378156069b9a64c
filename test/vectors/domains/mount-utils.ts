import { isCorruptedMount } from "../../../src/core/storage/corrupted-mount.ts";
import { deviceOfMount, mountReferences } from "../../../src/core/storage/mount-references.ts";
import { parseProcMounts, referencesByDevice } from "../../../src/core/storage/proc-mounts.ts";
import { cleanUpMountPoint } from "../../../src/engine/volumes/mount-points.ts";
import { errorText } from "../../../src/lib/error-text.ts";
import {
  bindOptions,
  carriedBindOptions,
  inSystemdScope,
  mountCommand,
} from "../../../src/lib/mount-arguments.ts";
import { type MountEntry, parseMountInfo, splitMountOptions } from "../../../src/lib/mount-info.ts";
import { isPathWithin } from "../../../src/lib/path-within.ts";
import { buildPod } from "../../kit/pods.ts";
import { type DetectionInput, detectMountPoint } from "../mount-utils-detection.ts";
import { type DiskInput, runDisk } from "../mount-utils-disks.ts";
import { type MountInput, runMount, runUnmount, type UnmountInput } from "../mount-utils-mounts.ts";
import { StoragePluginWorld } from "../storage-plugin-world.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface CleanupInput {
  readonly kind: "cleanup";
  readonly path: string;
  readonly state: "missing" | "empty" | "nonEmpty" | "file" | "mounted" | "mountedNonEmpty";
  readonly safeNotMounted?: boolean;
  readonly mountError?: string;
}

type MountUtilsInput =
  | {
      readonly kind: "bindOpts";
      readonly options?: readonly string[];
      readonly sensitiveOptions?: readonly string[];
    }
  | (Omit<MountInput, "kind"> & { readonly kind: "mountArgs" })
  | { readonly kind: "bindMountFlags"; readonly statfsFlags: number }
  | { readonly kind: "parseMounts" | "parseMountInfo"; readonly content: string }
  | { readonly kind: "mountRefs"; readonly content: string; readonly path: string }
  | {
      readonly kind: "deviceFromMounts";
      readonly mounts: readonly { readonly Device: string; readonly Path: string }[];
      readonly path: string;
    }
  | { readonly kind: "pathWithinBase"; readonly base: string; readonly path: string }
  | { readonly kind: "isCorrupted"; readonly errno: string }
  | MountInput
  | UnmountInput
  | DiskInput
  | CleanupInput
  | DetectionInput;

const never = new AbortController().signal;

export const mountUtils: VectorDomain = vectorDomain<MountUtilsInput>("mount-utils", (input) => {
  switch (input.kind) {
    case "bindOpts": {
      const bind = bindOptions(input.options ?? [], input.sensitiveOptions ?? []);
      return {
        bind: bind.isBind,
        bindOptions: bind.bind,
        remountOptions: bind.remount,
        remountSensitiveOptions: bind.remountSecret,
      };
    }
    case "mountArgs":
      return mountArguments(input);
    case "bindMountFlags":
      return { options: carriedBindOptions(input.statfsFlags) };
    case "mount":
      return runMount(input);
    case "unmount":
      return runUnmount(input);
    case "parseMounts": {
      const mounts = parseProcMounts(input.content);
      return mounts.ok ? { mounts: mounts.value } : { error: mounts.error };
    }
    case "parseMountInfo":
      return orError(() => ({ entries: parseMountInfo(input.content).map(encodeEntry) }));
    case "mountRefs":
      return orError(() => {
        const refs = mountReferences(parseMountInfo(input.content), unescaped(input.path));
        return refs.ok ? { refs: refs.value.map(escaped) } : { error: refs.error };
      });
    case "deviceFromMounts": {
      const mounts = input.mounts.map(({ Device, Path }) => ({ device: Device, path: Path }));
      const entries = mounts.map(({ device, path }) => ({ source: device, mountPoint: path }));
      const { device, count } = deviceOfMount(entries, input.path);
      return { device, refCount: count, refsByDevice: referencesByDevice(mounts, input.path) };
    }
    case "pathWithinBase":
      return { within: isPathWithin(input.path, input.base) };
    case "isCorrupted":
      return { corrupted: isCorruptedMount(input.errno) };
    case "cleanup":
      return cleanUp(input);
    case "mountPointDetection":
      return detectMountPoint(input);
    default:
      return runDisk(input);
  }
});

function mountArguments(input: Omit<MountInput, "kind">): object {
  const { source = "", target, fsType = "", options = [], sensitiveOptions, mountFlags } = input;
  const command = mountCommand({
    source,
    target,
    fileSystem: fsType,
    options,
    secretOptions: sensitiveOptions,
    flags: mountFlags,
  });
  const scoped = inSystemdScope(target, command);
  return {
    args: command.argv.slice(1),
    log: command.shownArguments,
    systemd: { command: scoped.argv[0], args: scoped.argv.slice(1), log: scoped.shownArguments },
  };
}

function orError(work: () => object): object {
  try {
    return work();
  } catch (error) {
    return { error: errorText(error) };
  }
}

/** Upstream leaves what the kernel escaped as it is; the agent reads the path that is meant. */
function escaped(path: string): string {
  return path.replaceAll(/[ \t\n\\]/g, (character) => {
    const octal = character.charCodeAt(0).toString(8);
    return `\\${octal.padStart(3, "0")}`;
  });
}

function unescaped(path: string): string {
  return path.replaceAll("\\040", " ");
}

function encodeEntry(entry: MountEntry): object {
  const [major, minor] = entry.device.split(":").map(Number);
  return {
    id: Number(entry.id),
    parentId: Number(entry.parentId),
    major,
    minor,
    root: escaped(entry.root),
    mountPoint: escaped(entry.mountPoint),
    mountOptions: splitMountOptions(entry.options),
    optionalFields: entry.optionalFields,
    fsType: entry.fileSystem,
    source: escaped(entry.source),
    superOptions: splitMountOptions(entry.superOptions),
  };
}

async function cleanUp(input: CleanupInput): Promise<object> {
  const { path, state, safeNotMounted = false, mountError } = input;
  const isMounted = state === "mounted" || state === "mountedNonEmpty";
  const entry = state === "file" ? { path } : { path, dir: true };
  // Nothing can refuse to be unmounted that is not mounted.
  const isRefused = isMounted && mountError !== undefined;
  const isFull = state === "nonEmpty" || state === "mountedNonEmpty";
  const world = new StoragePluginWorld({
    pod: buildPod({}),
    files: [
      ...(state === "missing" ? [] : [entry]),
      ...(isFull ? [{ path: `${path}/file`, content: "" }] : []),
    ],
    mounts: isMounted ? [{ device: "/dev/x", path }] : [],
    unmountErrors: isRefused ? { [path]: mountError } : {},
    safeNotMounted,
  });
  const result = await cleanUpMountPoint(world.ports, path, {}, never);
  const unmounts = !isRefused ? (world.takeStep()["actions"] as unknown[]) : [];
  return {
    error: result.ok ? undefined : result.error,
    existsAfter: world.tree.find(path) !== undefined,
    unmounts: unmounts.length,
  };
}
