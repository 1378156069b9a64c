import type { HostFiles } from "../../ports/host-files.ts";

/** Files in memory. Folders come and go with what is in them. */
export class MemoryFiles implements HostFiles {
  readonly #files = new Map<string, Uint8Array | string>();
  readonly #links = new Map<string, string>();
  readonly #folders = new Set<string>();

  async ensureFolder(path: string): Promise<void> {
    this.#folders.add(path);
  }

  async writeFile(path: string, data: Uint8Array | string): Promise<void> {
    this.#files.set(path, data);
  }

  async writeBriefly(path: string, data: Uint8Array | string): Promise<void> {
    await this.writeFile(path, data);
  }

  async overwrite(path: string, data: Uint8Array | string): Promise<void> {
    await this.writeFile(path, data);
  }

  async readTail(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const file = this.#files.get(path);
    const data = typeof file === "string" ? new TextEncoder().encode(file) : file;
    return data?.subarray(Math.max(0, data.length - maxBytes));
  }

  async readText(path: string): Promise<string | undefined> {
    const data = this.#files.get(path);
    return data instanceof Uint8Array ? new TextDecoder().decode(data) : data;
  }

  async realPath(path: string): Promise<string | undefined> {
    const target = this.#links.get(path);
    if (target !== undefined) return this.realPath(target);
    return this.has(path) ? path : undefined;
  }

  has(path: string): boolean {
    return this.#files.has(path) || this.#links.has(path) || this.#folders.has(path);
  }

  async list(path: string): Promise<readonly string[]> {
    const prefix = `${path}/`;
    const names = new Set<string>();
    for (const one of this.#paths()) {
      if (one.startsWith(prefix)) names.add(one.slice(prefix.length).split("/", 1)[0] ?? "");
    }
    return [...names].toSorted();
  }

  async symlink(target: string, path: string): Promise<void> {
    this.#links.set(path, target);
  }

  async removeFile(path: string): Promise<void> {
    this.#files.delete(path);
    this.#links.delete(path);
  }

  async removeEntry(path: string): Promise<void> {
    if ((await this.list(path)).length > 0) throw new Error(`remove ${path}: directory not empty`);
    await this.removeTree(path);
  }

  async removeTree(path: string): Promise<void> {
    const prefix = `${path}/`;
    for (const one of this.#paths()) {
      if (one !== path && !one.startsWith(prefix)) continue;
      this.#files.delete(one);
      this.#links.delete(one);
      this.#folders.delete(one);
    }
  }

  async appendLine(path: string, line: string): Promise<void> {
    await this.writeFile(path, `${(await this.readText(path)) ?? ""}${line}\n`);
  }

  /** All links, by path. */
  get links(): ReadonlyMap<string, string> {
    return this.#links;
  }

  /** Files and links below a folder, by path. */
  filesBelow(folder: string): readonly string[] {
    return [...this.#files.keys(), ...this.#links.keys()].filter((path) =>
      path.startsWith(`${folder}/`),
    );
  }

  #paths(): readonly string[] {
    return [...this.#files.keys(), ...this.#links.keys(), ...this.#folders];
  }
}
