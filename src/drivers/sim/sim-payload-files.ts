import type { PayloadPlan, PublishedPayload } from "../../model/volume-payload.ts";
import type { PayloadFiles } from "../../ports/payload-files.ts";

/** The files that the agent publishes in volumes, in memory. */
export class SimPayloadFiles implements PayloadFiles {
  readonly #payloads = new Map<string, Map<string, Uint8Array | undefined>>();

  readPayload(folder: string): Promise<PublishedPayload | undefined> {
    const entries = this.#payloads.get(folder);
    return Promise.resolve(entries && { entries });
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

  read(folder: string, path: string): Uint8Array | undefined {
    return this.#payloads.get(folder)?.get(path);
  }

  removeBelow(path: string): void {
    for (const folder of this.#payloads.keys()) {
      if (folder === path || folder.startsWith(`${path}/`)) this.#payloads.delete(folder);
    }
  }
}
