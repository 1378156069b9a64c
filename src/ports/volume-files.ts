import type { PayloadPlan, PublishedPayload } from "../model/volume-payload.ts";

export type FileKind = "directory" | "file" | "socket" | "char-device" | "block-device" | "other";

/** Gives the files of a volume to a group. */
export interface VolumeOwnership {
  readonly groupId: number;
  readonly readOnly: boolean;
  /** Leave the volume alone if its top folder is as it should be. */
  readonly onlyOnMismatch: boolean;
}

/**
 * The files of volumes. Containers may have written to them: no call follows a link below the folder it is given, and
 * none goes on into another mount.
 */
export interface VolumeFiles {
  /** What the volume shows; undefined when nothing was ever published there. */
  readPayload(folder: string): Promise<PublishedPayload | undefined>;
  /** A regular file of a volume, by links inside the volume only; undefined when there is none or it is larger. */
  readFile(folder: string, path: string, maxBytes: number): Promise<Uint8Array | undefined>;
  /** Writes beside what is there and makes it visible in one step. */
  publishPayload(
    folder: string,
    plan: PayloadPlan,
    ownership: VolumeOwnership | undefined,
  ): Promise<void>;
  makeFolders(folder: string, relativePaths: readonly string[]): Promise<void>;
  changeOwnership(folder: string, ownership: VolumeOwnership): Promise<void>;
  /** Absent is fine; rejects, naming it, at a mount point. */
  removeTree(path: string): Promise<void>;
  /** What lies at a path of the node, links followed; undefined when nothing can be seen there. */
  kindOf(path: string, signal: AbortSignal): Promise<FileKind | undefined>;
  /** For a path of the node that a pod names itself; parents are made. */
  createNodeFolder(path: string): Promise<void>;
  createNodeFile(path: string): Promise<void>;
}
