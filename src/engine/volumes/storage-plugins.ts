import type { CsiObjects } from "../../ports/csi-objects.ts";
import type { AgentPorts } from "../agent/agent-ports.ts";
import type { CsiDriverRegistry } from "../plugins/csi-driver-registry.ts";
import { CsiClients } from "./csi/csi-calls.ts";
import { csiPlugin } from "./csi/csi-plugin.ts";
import type { DiskVolumeDeps } from "./disk-volume.ts";
import { fcPlugin } from "./fc/fc-plugin.ts";
import { folderPlugin } from "./folder-plugin.ts";
import { IscsiPlugin } from "./iscsi/iscsi-plugin.ts";
import { localPlugin } from "./local/local-plugin.ts";
import { nfsPlugin } from "./nfs/nfs-plugin.ts";
import type { StoragePlugin } from "./storage-plugin.ts";
import type { VolumePluginDeps } from "./volume-plugin.ts";
import { volumePlugins } from "./volume-plugins.ts";

export interface StoragePluginsDeps
  extends VolumePluginDeps,
    DiskVolumeDeps,
    Pick<AgentPorts, "csiDrivers" | "metrics" | "sha256"> {
  readonly nodeName: string;
  readonly csiObjects: CsiObjects;
  /** The drivers that are registered. */
  readonly csiRegistry: CsiDriverRegistry;
}

/** Every type of volume that can be mounted, by its plugin's name. */
export function storagePlugins(deps: StoragePluginsDeps): ReadonlyMap<string, StoragePlugin> {
  const { csiDrivers: drivers, csiRegistry: registry, csiObjects: objects } = deps;
  const clients = new CsiClients({ ...deps, drivers, registry });
  const plugins = [
    ...volumePlugins.map((plugin) => folderPlugin(deps, plugin)),
    csiPlugin({ ...deps, names: deps, clients, objects }),
    localPlugin(deps),
    nfsPlugin(deps),
    new IscsiPlugin({ ...deps, secrets: objects }),
    fcPlugin(deps),
  ];
  return new Map(plugins.map((plugin) => [plugin.name, plugin]));
}
