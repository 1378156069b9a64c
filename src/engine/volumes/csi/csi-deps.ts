import type { CsiObjects } from "../../../ports/csi-objects.ts";
import type { ForeignFiles } from "../../../ports/foreign-files.ts";
import type { HostFiles } from "../../../ports/host-files.ts";
import type { Log } from "../../../ports/log.ts";
import type { Mounts } from "../../../ports/mounts.ts";
import type { ServiceAccountTokens } from "../../../ports/service-account-tokens.ts";
import type { CsiClients } from "./csi-calls.ts";

/** What mounting the volumes of CSI drivers needs. */
export interface CsiPluginDeps {
  /** The agent's data folder. */
  readonly rootFolder: string;
  readonly nodeName: string;
  readonly clients: CsiClients;
  readonly objects: CsiObjects;
  /** Undefined without a cluster. */
  readonly tokens: ServiceAccountTokens | undefined;
  readonly files: HostFiles;
  readonly foreignFiles: ForeignFiles;
  readonly mounts: Mounts;
  readonly log: Log;
  readonly sha256: (text: string) => string;
}
