import type { FileSystemUsage, TreeUsage } from "./host-usage.ts";

export type FileKind = "directory" | "file" | "socket" | "char-device" | "block-device" | "other";

/** Gives the files of a volume to a group. */
export interface VolumeOwnership {
  readonly groupId: number;
  readonly readOnly: boolean;
  /** Leave the volume alone if its top folder is as it should be. */
  readonly onlyOnMismatch: boolean;
  /** Called now and then with the number of files that are done. */
  readonly onProcessed?: (files: number) => void;
}

/** The part of a volume that a container sees. */
export interface SubPathBind {
  readonly volumePath: string;
  /** Below the volume; missing folders are made. */
  readonly subPath: string;
  readonly target: string;
}

/** Where the binding of a sub path failed, which decides the message that is shown. */
export type SubPathFailure = {
  readonly code: "create" | "prepare";
  /** For the log: it may name files outside the volume. */
  readonly message: string;
};

/** What a volume takes, and what is left on its file system. */
export interface VolumeUse {
  readonly room: FileSystemUsage;
  readonly use: TreeUsage;
}

/**
 * Files that tenants or networks own: paths of the node that pods name, and whatever containers can write to. They may
 * hang for ever, hold millions of files, or change under the hand that looks. So every call rejects when its file system
 * stops answering, and when `signal` aborts; as long as something still hangs on a file system, further calls for it are
 * rejected at once. No call follows a link below the folder it is given, and none crosses into another mount.
 */
export interface ForeignFiles {
  /** What lies at a path of the node, links followed; undefined when nothing can be seen there. */
  kindOf(path: string, signal: AbortSignal): Promise<FileKind | undefined>;
  /** The group that owns what lies at a path, links followed; undefined when nothing can be seen there. */
  groupOf(path: string, signal: AbortSignal): Promise<number | undefined>;
  /**
   * Whether a block device of the node is held by something: mounted in any mount namespace, or part of another device. False for
   * what is not a device.
   */
  isDeviceHeld(path: string, signal: AbortSignal): Promise<boolean>;
  /** The path with every link followed; undefined when nothing can be seen there. */
  realPath(path: string, signal: AbortSignal): Promise<string | undefined>;
  /** For a path of the node that a pod names itself, links followed; parents are made. */
  makeFolder(path: string, signal: AbortSignal): Promise<void>;
  makeFile(path: string, signal: AbortSignal): Promise<void>;
  /**
   * Opens the sub path one component at a time, never by a link that leads out of the volume, and binds what was opened
   * to the target. What is bound there already stays if it is the same.
   */
  bindSubPath(bind: SubPathBind, signal: AbortSignal): Promise<SubPathFailure | undefined>;
  /** A regular file of a volume, by links inside the volume only; undefined when it is not a regular file or too large. */
  readFile(
    file: { readonly folder: string; readonly path: string; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined>;
  /** At most the last `maxBytes` of a regular file that a pod names; undefined when it does not exist. */
  readEnd(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined>;
  changeOwnership(folder: string, ownership: VolumeOwnership, signal: AbortSignal): Promise<void>;
  /**
   * What a volume takes: by its files, on its own file system and without mounts inside, or by its whole file system.
   * Undefined when it is not there.
   */
  measure(
    path: string,
    by: "files" | "file-system",
    signal: AbortSignal,
  ): Promise<VolumeUse | undefined>;
  /** Deletes a tree. Absent is fine; rejects, naming it, at a mount point. */
  removeTree(path: string, signal: AbortSignal): Promise<void>;
}
