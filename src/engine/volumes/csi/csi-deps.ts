import type { Clock } from "../../../ports/clock.ts";
import type { CsiObjects } from "../../../ports/csi-objects.ts";
import type { ForeignFiles } from "../../../ports/foreign-files.ts";
import type { HostFiles } from "../../../ports/host-files.ts";
import type { Log } from "../../../ports/log.ts";
import type { Mounts } from "../../../ports/mounts.ts";
import type { PodEvents } from "../../../ports/pod-events.ts";
import type { ServiceAccountTokens } from "../../../ports/service-account-tokens.ts";
import type { CsiClients } from "./csi-calls.ts";

/** What the names of a node's volumes, attachments and folders follow from. */
interface CsiNames {
  /** The agent's data folder. */
  readonly rootFolder: string;
  readonly nodeName: string;
  readonly sha256: (text: string) => string;
}

/** What mounting the volumes of CSI drivers needs. */
export interface CsiPluginDeps {
  readonly names: CsiNames;
  readonly clients: CsiClients;
  readonly objects: CsiObjects;
  /** Undefined without a cluster. */
  readonly tokens: ServiceAccountTokens | undefined;
  readonly files: HostFiles;
  readonly foreignFiles: ForeignFiles;
  readonly mounts: Mounts;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly log: Log;
}
