import { simCommands, simDevices } from "../../src/drivers/sim/sim-storage.ts";
import type { SourceReadiness } from "../../src/engine/intake/source-readiness.ts";
import type { PodTable } from "../../src/engine/pods/pod-table.ts";
import { BlockMaps } from "../../src/engine/volumes/block-maps.ts";
import type { Claims } from "../../src/engine/volumes/claims.ts";
import { folderPlugin } from "../../src/engine/volumes/folder-plugin.ts";
import { FoundVolumes } from "../../src/engine/volumes/found-volumes.ts";
import {
  StorageManager,
  type StorageManagerDeps,
} from "../../src/engine/volumes/storage-manager.ts";
import { VolumeExpansion } from "../../src/engine/volumes/volume-expansion.ts";
import { VolumeOperations } from "../../src/engine/volumes/volume-operations.ts";
import type { VolumePluginDeps } from "../../src/engine/volumes/volume-plugin.ts";
import { volumePlugins } from "../../src/engine/volumes/volume-plugins.ts";
import { VolumeReconciler } from "../../src/engine/volumes/volume-reconciler.ts";
import type { VolumeStates } from "../../src/engine/volumes/volume-states.ts";
import { err } from "../../src/lib/result.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Log } from "../../src/ports/log.ts";
import type { Metrics } from "../../src/ports/metrics.ts";
import type { PodEvents } from "../../src/ports/pod-events.ts";

interface TestStorageDeps extends VolumePluginDeps {
  readonly table: PodTable;
  readonly workerStates: StorageManagerDeps["workerStates"];
  readonly events: PodEvents;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
  readonly lifetime: AbortSignal;
  readonly states: VolumeStates;
}

const sources: Pick<SourceReadiness, "areAllReady"> = { areAllReady: true };

const noClaims: Claims = {
  origin: "the manifests",
  claim: (_, name) => Promise.resolve(err(`persistentvolumeclaims "${name}" not found`)),
  persistentVolume: (name) => Promise.resolve(err(`persistentvolumes "${name}" not found`)),
  csiDriver: () => undefined,
  patchStatus: (claim) => Promise.resolve(claim),
  record: () => undefined,
  recordVolume: () => undefined,
};

/** A manager of volumes that are folders of the node: no claims, no storage of others. It runs until the agent's end. */
export function startTestStorage(deps: TestStorageDeps): StorageManager {
  const attachments = {
    byController: false,
    attached: new Map<string, string>(),
    reportedInUse: [],
  };
  const all = volumePlugins.map((plugin) => folderPlugin(deps, plugin));
  const shared = {
    ...deps,
    attachments,
    claims: noClaims,
    plugins: new Map(all.map((plugin) => [plugin.name, plugin])),
    blockMaps: new BlockMaps({ ...deps, devices: simDevices, commands: simCommands }),
    nodeLabels: { labels: {} },
    settings: { runtimeSettings: { seLinux: undefined } },
  };
  const operations = new VolumeOperations({ ...shared, expansion: new VolumeExpansion(shared) });
  const manager = new StorageManager({
    ...shared,
    sources,
    reconciler: new VolumeReconciler({ ...shared, operations }),
    found: new FoundVolumes(shared),
    allocatable: undefined,
    wakeups: { updateNode: () => undefined },
  });
  void manager.run(deps.lifetime);
  void manager.runResolve(deps.lifetime);
  return manager;
}
