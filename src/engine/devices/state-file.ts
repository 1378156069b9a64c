import type { HostFiles } from "../../ports/host-files.ts";

/** A file in which a manager keeps who holds what, where a kubelet keeps it too. */
export class StateFile {
  readonly path: string;
  readonly #files: Pick<HostFiles, "readText" | "writeFile">;
  #wanted: string | undefined;
  #written: string | undefined;
  #writing: Promise<void> | undefined;

  constructor(files: Pick<HostFiles, "readText" | "writeFile">, path: string) {
    this.#files = files;
    this.path = path;
  }

  async read(): Promise<string | undefined> {
    this.#written = await this.#files.readText(this.path);
    this.#wanted = this.#written;
    return this.#written;
  }

  /** Undefined: nothing changed since the last call. Resolves when the newest text is on disk; rejects when it cannot be written. */
  async save(text: string | undefined): Promise<void> {
    if (text !== undefined) this.#wanted = text;
    while (this.#wanted !== undefined && this.#wanted !== this.#written) {
      this.#writing ??= this.#write(this.#wanted).finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  async #write(text: string): Promise<void> {
    await this.#files.writeFile(this.path, text, 0o600);
    this.#written = text;
  }
}
