import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { ImageManager } from "../images/image-manager.ts";
import type { KillDeps } from "./kill-container.ts";
import type { PodConfigs } from "./pod-configs.ts";
import type { ActuatedRecord } from "./resize-deps.ts";

/** What creating sandboxes and starting containers needs. */
export interface StartDeps {
  /** For hooks, and for containers whose postStart hook fails. */
  readonly kill: KillDeps;
  readonly runtime: ContainerRuntime;
  readonly images: ImageManager;
  readonly configs: PodConfigs;
  readonly actuated: ActuatedRecord;
  readonly files: HostFiles;
  readonly events: PodEvents;
  readonly podLogsRoot: string;
  /** Whether logs are linked into the folder where log collectors of clusters look for them. */
  readonly linkLogs: boolean;
  /** Ends with the agent: a call to the runtime is not cut off because a pod's sync is. */
  readonly lifetime: AbortSignal;
}
