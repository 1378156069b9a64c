import { compareText } from "../../src/lib/compare-text.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";

/** A file as the vectors of volumes describe it; one without another property is a file. */
export interface EncodedFile {
  readonly path: string;
  readonly content?: string;
  readonly dir?: boolean;
  readonly symlink?: string;
  /** The number of the device. */
  readonly blockDevice?: number;
}

/** The files that a vector says are there, with the folders that they are in. */
export class GivenFiles {
  readonly #files: ReadonlyMap<string, EncodedFile>;

  constructor(files: readonly EncodedFile[]) {
    const all = new Map<string, EncodedFile>();
    for (const file of files) {
      for (let path = parent(file.path); path !== ""; path = parent(path)) {
        if (!all.has(path)) all.set(path, { path, dir: true });
      }
      all.set(file.path, file);
    }
    this.#files = all;
  }

  get(path: string): EncodedFile | undefined {
    return this.#files.get(path);
  }

  list(path: string): Result<readonly string[], string> | undefined {
    const file = this.#files.get(path);
    if (file === undefined) return undefined;
    if (file.dir !== true) return err(`readdirent ${path}: not a directory`);
    const names = [...this.#files.keys()]
      .filter((each) => parent(each) === path)
      .map((each) => each.slice(path.length + 1));
    return ok(names.toSorted(compareText));
  }

  /** The content of a file, or why it cannot be opened. */
  read(path: string): Result<string, string> {
    const content = this.#files.get(path)?.content;
    return content === undefined ? err(`open ${path}: no such file or directory`) : ok(content);
  }

  /** The device's number, links followed. */
  deviceNumber(path: string): number | undefined {
    const file = this.#files.get(path);
    return file?.symlink === undefined ? file?.blockDevice : this.deviceNumber(file.symlink);
  }

  /** The last of the devices of that name below a folder, in the order of their paths, that is the one at `path` too. */
  findDevice(folder: string, name: string, path: string): string | undefined {
    const number = this.deviceNumber(path);
    return [...this.#files.values()]
      .filter((file) => file.path.startsWith(`${folder}/`) && file.path.endsWith(`/${name}`))
      .filter(({ blockDevice }) => blockDevice !== undefined && blockDevice === number)
      .map((file) => file.path)
      .toSorted(compareText)
      .at(-1);
  }
}

function parent(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
