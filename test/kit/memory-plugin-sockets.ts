// A plugin folder without a file system: what is created in it is reported to those who watch its folder, as inotify does.
import type {
  FolderWatch,
  PluginAnswer,
  PluginClient,
  PluginSockets,
  PluginStatus,
} from "../../src/ports/plugin-sockets.ts";

export interface EncodedPlugin extends Partial<Omit<PluginAnswer, "supportedVersions">> {
  readonly supportedVersions?: readonly string[] | null;
  readonly getInfoError?: string;
  readonly notifyError?: string;
}

type Entry =
  | { readonly kind: "folder" | "other"; readonly identity: string }
  | { readonly kind: "socket"; readonly identity: string; readonly plugin: EncodedPlugin };

export class MemoryPluginSockets implements PluginSockets {
  readonly #entries = new Map<string, Entry>();
  readonly #watches = new Map<string, (name: string | undefined) => void>();
  #created = 0;
  getInfoCalls: string[] = [];
  notifications: { readonly socketPath: string; readonly status: PluginStatus }[] = [];

  async makeFolder(path: string): Promise<void> {
    if (!this.#entries.has(path)) this.addFolder(path);
  }

  async read(path: string): Promise<Entry | undefined> {
    return this.#entries.get(path);
  }

  async list(folder: string): Promise<readonly string[]> {
    return [...this.#entries.keys()].filter((path) => parentOf(path) === folder).map(nameOf);
  }

  watch(folder: string, onChange: (name: string | undefined) => void): FolderWatch {
    this.#watches.set(folder, onChange);
    return { close: () => void this.#watches.delete(folder) };
  }

  async connect(socketPath: string): Promise<PluginClient> {
    const entry = this.#entries.get(socketPath);
    if (entry?.kind !== "socket") throw new Error(`connect ECONNREFUSED ${socketPath}`);
    const { plugin } = entry;
    return {
      getInfo: async () => {
        this.getInfoCalls.push(socketPath);
        if (plugin.getInfoError !== undefined) throw rpcError(plugin.getInfoError);
        const { type = "", name = "", endpoint = "", supportedVersions } = plugin;
        return { type, name, endpoint, supportedVersions: supportedVersions ?? [] };
      },
      notifyRegistrationStatus: async (status) => {
        this.notifications.push({ socketPath, status });
        if (plugin.notifyError !== undefined) throw rpcError(plugin.notifyError);
      },
      close: () => undefined,
    };
  }

  addFolder(path: string): void {
    this.#add(path, { kind: "folder", identity: this.#newIdentity() });
  }

  addFile(path: string): void {
    this.#add(path, { kind: "other", identity: this.#newIdentity() });
  }

  /** One that is there is removed first. */
  addSocket(path: string, plugin: EncodedPlugin): void {
    this.remove(path);
    this.#add(path, { kind: "socket", identity: this.#newIdentity(), plugin });
  }

  remove(path: string): void {
    if (this.#entries.delete(path)) this.#watches.get(parentOf(path))?.(nameOf(path));
  }

  #add(path: string, entry: Entry): void {
    this.#entries.set(path, entry);
    this.#watches.get(parentOf(path))?.(nameOf(path));
  }

  #newIdentity(): string {
    this.#created += 1;
    return String(this.#created);
  }
}

function rpcError(message: string): Error {
  return new Error(`rpc error: code = Unknown desc = ${message}`);
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
