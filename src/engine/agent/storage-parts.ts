import { pluginRegistryDirectory } from "../../core/paths/data-paths.ts";
import { LocalClaims, LocalCsiObjects } from "../intake/local-claims.ts";
import { CsiNode } from "../node/csi-node.ts";
import { NodeAttachments } from "../node/node-volumes.ts";
import { CsiAllocatable } from "../plugins/csi-allocatable.ts";
import { CsiDriverRegistry } from "../plugins/csi-driver-registry.ts";
import { CsiRegistration } from "../plugins/csi-registration.ts";
import { PluginRegistry } from "../plugins/plugin-registry.ts";
import { BlockMaps } from "../volumes/block-maps.ts";
import { ContainerVolumes } from "../volumes/container-volumes.ts";
import { FoundVolumes } from "../volumes/found-volumes.ts";
import { StorageManager } from "../volumes/storage-manager.ts";
import type { StoragePlugin } from "../volumes/storage-plugin.ts";
import { storagePlugins } from "../volumes/storage-plugins.ts";
import { StorageStats } from "../volumes/storage-stats.ts";
import { VolumeExpansion } from "../volumes/volume-expansion.ts";
import { VolumeOperations } from "../volumes/volume-operations.ts";
import { VolumeReconciler } from "../volumes/volume-reconciler.ts";
import { VolumeStates } from "../volumes/volume-states.ts";
import type { Base, FieldsOf } from "./agent-base.ts";
import type { DeviceParts } from "./device-parts.ts";

type WithDevices = Base & FieldsOf<DeviceParts>;

/** The same with what mounts volumes. */
export type WithStorage = WithDevices & FieldsOf<StorageParts>;

/** What mounts volumes: the plugins of storage and those that register themselves, and the manager of all volumes. */
export class StorageParts {
  readonly csiNode: CsiNode | undefined;
  readonly csiAllocatable: CsiAllocatable | undefined;
  readonly pluginRegistry: PluginRegistry;
  readonly storage: StorageManager;
  readonly storageStats: StorageStats;
  readonly volumes: ContainerVolumes;

  constructor(base: WithDevices) {
    const { apiServer, cluster, csiDrivers: drivers, rootFolder, settings } = base;
    const registry = new CsiDriverRegistry();
    const known = { ...base, registry, drivers };
    if (apiServer !== undefined && cluster !== undefined) {
      const api = apiServer.heartbeatApi ?? apiServer.api;
      this.csiNode = new CsiNode({ ...base, api });
      const { csiNode } = this;
      const objects = cluster.csiDrivers;
      this.csiAllocatable = new CsiAllocatable({ ...known, ...apiServer, csiNode, objects });
    }
    const { csiAllocatable: allocatable } = this;
    const folder = pluginRegistryDirectory(rootFolder);
    this.pluginRegistry = new PluginRegistry({ ...base, sockets: base.pluginSockets, folder });
    const registration = new CsiRegistration({ ...known, csiNode: this.csiNode, allocatable });
    this.pluginRegistry.addHandler("CSIPlugin", registration);
    this.pluginRegistry.addHandler("DevicePlugin", base.deviceEndpoints);
    this.pluginRegistry.addHandler("DRAPlugin", base.draEndpoints);

    const states = new VolumeStates(base.table);
    const { enableControllerAttachDetach } = settings.node.registration;
    const shared = {
      ...base,
      states,
      attachments: new NodeAttachments(cluster, enableControllerAttachDetach),
      claims: cluster?.claims ?? new LocalClaims({ ...base, ...settings.pods }),
      blockMaps: new BlockMaps(base),
      plugins: createPlugins(base, registry),
      nodeLabels: base.node,
    };
    const expansion = new VolumeExpansion(shared);
    const operations = new VolumeOperations({ ...shared, expansion });
    this.storage = new StorageManager({
      ...shared,
      workerStates: base.states,
      reconciler: new VolumeReconciler({ ...shared, operations }),
      found: new FoundVolumes(shared),
      allocatable,
    });
    this.storageStats = new StorageStats({ ...shared, ...settings.pods });
    this.volumes = new ContainerVolumes({ ...base, storage: this.storage });
  }
}

/** By name. */
function createPlugins(
  base: Base,
  csiRegistry: CsiDriverRegistry,
): ReadonlyMap<string, StoragePlugin> {
  const { cluster } = base;
  const { tokens, trustBundles, podCertificates } = cluster ?? {};
  const csiObjects = cluster?.csiObjects ?? new LocalCsiObjects(base.localObjects);
  const { allocatable = {} } = base.settings.node.admission.node.status ?? {};
  const known = { tokens, trustBundles, podCertificates, allocatable };
  return storagePlugins({ ...base, ...known, csiObjects, csiRegistry });
}
