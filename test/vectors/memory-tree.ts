/** One file of a made-up machine, as the vectors write it. */
export interface TreeFile {
  readonly path: string;
  readonly dir?: boolean;
  readonly content?: string;
  readonly symlink?: string;
  readonly blockDevice?: boolean;
  readonly charDevice?: boolean;
  readonly gid?: number;
}

type EntryKind = "directory" | "file" | "link" | "block-device" | "char-device";

interface Entry {
  readonly kind: EntryKind;
  content: string;
  gid: number;
  mode: number;
}

const maxLinks = 40;

/** Files, folders, devices and links in memory. Paths are absolute; links are followed except by the last name where said. */
export class MemoryTree {
  readonly #entries = new Map<string, Entry>();
  readonly #writes = new Map<string, string>();

  add({ path, dir, content = "", symlink, blockDevice, charDevice, gid = 0 }: TreeFile): void {
    this.makeFolder(parentOf(path), 0o755);
    let kind: EntryKind = "file";
    if (dir === true) kind = "directory";
    else if (symlink !== undefined) kind = "link";
    else if (blockDevice === true) kind = "block-device";
    else if (charDevice === true) kind = "char-device";
    const mode = kind === "directory" ? 0o755 : 0o644;
    this.#entries.set(path, { kind, content: symlink ?? content, gid, mode });
  }

  makeFolder(path: string, mode: number): void {
    if (path === "" || path === "/") return;
    if (this.realPath(path) !== undefined) return;
    this.makeFolder(parentOf(path), mode);
    this.#entries.set(path, { kind: "directory", content: "", gid: 0, mode });
  }

  /** Links followed; undefined when nothing is there. */
  find(path: string): Entry | undefined {
    const real = this.realPath(path);
    return real === undefined ? undefined : this.#entries.get(real);
  }

  /** The target of a link; undefined for anything else. */
  linkAt(path: string): string | undefined {
    const parent = this.realPath(parentOf(path)) ?? "";
    const entry = this.#entries.get(`${parent === "/" ? "" : parent}/${nameOf(path)}`);
    return entry?.kind === "link" ? entry.content : undefined;
  }

  realPath(path: string, links: number = maxLinks): string | undefined {
    let real = "";
    const names = path.split("/").filter((name) => name !== "");
    for (const [index, name] of names.entries()) {
      if (name === "." || name === "..") {
        real = name === "." ? real : parentOf(real);
        continue;
      }
      const entry = this.#entries.get(`${real}/${name}`);
      if (entry === undefined || links === 0) return undefined;
      if (entry.kind === "link") {
        const target = entry.content.startsWith("/") ? entry.content : `${real}/${entry.content}`;
        return this.realPath([target, ...names.slice(index + 1)].join("/"), links - 1);
      }
      real = `${real}/${name}`;
    }
    return real === "" ? "/" : real;
  }

  read(path: string): string | undefined {
    const entry = this.find(path);
    return entry?.kind === "file" ? entry.content : undefined;
  }

  /** What is below /sys is not changed by a write, which is kept for the report of the step. */
  write(path: string, content: string): void {
    if (path.startsWith("/sys/")) {
      this.#writes.set(path, content);
      return;
    }
    this.add({ path, content });
  }

  /** The names in a folder, sorted; undefined when there is no folder. */
  list(path: string): readonly string[] | undefined {
    const real = this.realPath(path);
    if (real === undefined || (real !== "/" && this.#entries.get(real)?.kind !== "directory")) {
      return undefined;
    }
    const prefix = real === "/" ? "/" : `${real}/`;
    return [...this.#entries.keys()]
      .filter((one) => one.startsWith(prefix) && !one.slice(prefix.length).includes("/"))
      .map((one) => one.slice(prefix.length))
      .toSorted();
  }

  /** Removes a file, a link or an empty folder; absent is fine. */
  remove(path: string): void {
    const prefix = `${path}/`;
    if ([...this.#entries.keys()].some((one) => one.startsWith(prefix))) {
      throw new Error(`remove ${path}: directory not empty`);
    }
    this.#entries.delete(path);
  }

  removeTree(path: string): void {
    for (const one of this.#entries.keys()) {
      if (one === path || one.startsWith(`${path}/`)) this.#entries.delete(one);
    }
  }

  /** Files and empty folders below a folder, relative to it, as the vectors list them. */
  listBelow(folder: string): readonly unknown[] {
    const prefix = `${folder}/`;
    const paths = [...this.#entries.keys()].filter((path) => path.startsWith(prefix)).toSorted();
    return paths.flatMap((path): readonly unknown[] => {
      const { kind, content } = this.#entries.get(path) ?? { kind: "file", content: "" };
      const name = path.slice(prefix.length);
      if (kind === "directory") {
        return paths.some((other) => other.startsWith(`${path}/`)) ? [] : [`${name}/`];
      }
      return name.endsWith(".json")
        ? [{ path: name, json: JSON.parse(content) as unknown }]
        : [name];
    });
  }

  /** What was written below /sys since the last call. */
  takeWrites(): Readonly<Record<string, string>> {
    const writes = Object.fromEntries(this.#writes);
    this.#writes.clear();
    return writes;
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
