import type { PayloadPlan, PublishedPayload } from "../../model/volume-payload.ts";
import type { FileKind, VolumeFiles } from "../../ports/volume-files.ts";

/** The files of volumes in memory. On the simulated node every path that a pod names is a folder. */
export class SimVolumeFiles implements VolumeFiles {
  readonly #payloads = new Map<string, Map<string, Uint8Array | undefined>>();

  readPayload(folder: string): Promise<PublishedPayload | undefined> {
    const entries = this.#payloads.get(folder);
    return Promise.resolve(entries && { entries });
  }

  readFile(folder: string, path: string): Promise<Uint8Array | undefined> {
    return Promise.resolve(this.#payloads.get(folder)?.get(path));
  }

  publishPayload(folder: string, { content }: PayloadPlan): Promise<void> {
    if (content !== undefined) {
      const entries = [...content].map(([path, { data }]) => [path, data] as const);
      this.#payloads.set(folder, new Map(entries));
    }
    return Promise.resolve();
  }

  makeFolders(): Promise<void> {
    return Promise.resolve();
  }

  changeOwnership(): Promise<void> {
    return Promise.resolve();
  }

  removeTree(path: string): Promise<void> {
    for (const folder of this.#payloads.keys()) {
      if (folder === path || folder.startsWith(`${path}/`)) this.#payloads.delete(folder);
    }
    return Promise.resolve();
  }

  kindOf(): Promise<FileKind | undefined> {
    return Promise.resolve("directory");
  }

  createNodeFolder(): Promise<void> {
    return Promise.resolve();
  }

  createNodeFile(): Promise<void> {
    return Promise.resolve();
  }
}
