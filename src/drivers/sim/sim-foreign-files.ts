import type {
  FileKind,
  ForeignFiles,
  SubPathBind,
  SubPathFailure,
  VolumeUse,
} from "../../ports/foreign-files.ts";
import type { FileSystemUsage } from "../../ports/host-usage.ts";
import type { SimMounts } from "./sim-mounts.ts";
import type { SimPayloadFiles } from "./sim-payload-files.ts";

export interface SimForeignFilesDeps {
  readonly payloads: SimPayloadFiles;
  readonly mounts: SimMounts;
  readonly readEnd: (path: string, maxBytes: number) => Promise<Uint8Array | undefined>;
  readonly removeTree: (path: string) => Promise<void>;
  readonly disk: () => FileSystemUsage;
}

/** The simulated node has no files but the agent's own: every path that a pod names is an empty folder that answers. */
export class SimForeignFiles implements ForeignFiles {
  readonly #deps: SimForeignFilesDeps;

  constructor(deps: SimForeignFilesDeps) {
    this.#deps = deps;
  }

  kindOf(): Promise<FileKind | undefined> {
    return Promise.resolve("directory");
  }

  isDeviceHeld(): Promise<boolean> {
    return Promise.resolve(false);
  }

  groupOf(): Promise<number | undefined> {
    return Promise.resolve(0);
  }

  realPath(path: string): Promise<string | undefined> {
    return Promise.resolve(path);
  }

  makeFolder(): Promise<void> {
    return Promise.resolve();
  }

  makeFile(): Promise<void> {
    return Promise.resolve();
  }

  bindSubPath({ target }: SubPathBind): Promise<SubPathFailure | undefined> {
    this.#deps.mounts.bind(target);
    return Promise.resolve(undefined);
  }

  readFile({
    folder,
    path,
  }: {
    readonly folder: string;
    readonly path: string;
  }): Promise<Uint8Array | undefined> {
    return Promise.resolve(this.#deps.payloads.read(folder, path));
  }

  readEnd(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
    return this.#deps.readEnd(path, maxBytes);
  }

  changeOwnership(): Promise<void> {
    return Promise.resolve();
  }

  measure(): Promise<VolumeUse | undefined> {
    return Promise.resolve({ room: this.#deps.disk(), use: { usedBytes: 0, inodesUsed: 0 } });
  }

  removeTree(path: string): Promise<void> {
    this.#deps.payloads.removeBelow(path);
    return this.#deps.removeTree(path);
  }
}
