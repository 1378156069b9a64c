/** An entry of the plugin folder; a link is what it is, not what it leads to. */
export interface PluginEntry {
  readonly kind: "folder" | "socket" | "other";
  /** Another one when the entry was removed and created again. */
  readonly identity: string;
}

export interface PluginAnswer {
  readonly type: string;
  readonly name: string;
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

export interface PluginStatus {
  readonly pluginRegistered: boolean;
  readonly error: string;
}

/** The registration service of one plugin. Calls reject with a RuntimeError. */
export interface PluginClient {
  getInfo(timeoutMs: number, signal: AbortSignal): Promise<PluginAnswer>;
  notifyRegistrationStatus(
    status: PluginStatus,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<void>;
  close(): void;
}

export interface FolderWatch {
  close(): void;
}

/** The folder in which plugins put the sockets by which they register. */
export interface PluginSockets {
  /** Parents are made too; present is fine. */
  makeFolder(path: string): Promise<void>;
  /** Undefined when there is nothing. */
  read(path: string): Promise<PluginEntry | undefined>;
  /** The names in a folder; none when it is gone. */
  list(folder: string): Promise<readonly string[]>;
  /** Calls back with the name of each entry that came or went; undefined = the watch has ended. */
  watch(folder: string, onChange: (name: string | undefined) => void): FolderWatch;
  /** Resolves when the socket has accepted the connection. */
  connect(socketPath: string, timeoutMs: number, signal: AbortSignal): Promise<PluginClient>;
}
