import type { Pod } from "../../../../src/model/pod.ts";
import type { Simulation } from "../simulation.ts";
import { volumePaths } from "./volume-paths.ts";

const pluginFolder = "/sim/plugins/kubernetes.io";

/** Volumes that are not yet as the pods want them. */
export function storageProblems({ storage }: Simulation, shown: readonly Pod[]): readonly string[] {
  if (storage === undefined) return [];
  const active = shown.filter(({ status }) => !/^(Succeeded|Failed)$/.test(status?.phase ?? ""));
  const wanted = new Set(active.flatMap(volumePaths));
  return storage.volumes.flatMap(({ handle, publishedAt, stagedAt }) => {
    const targets = [...publishedAt.keys()];
    const isIdle = stagedAt !== undefined && targets.length === 0;
    return [
      ...targets
        .filter((path) => !wanted.has(path))
        .map((path) => `${handle} is published at ${path}, which no pod wants`),
      ...(isIdle ? [`${handle} is staged for no pod`] : []),
    ];
  });
}

/** What is left of volumes, where nothing should be. */
export function storageLeftovers(sim: Simulation): readonly string[] {
  const { storage, cluster, machine } = sim;
  if (storage === undefined) return [];
  return [
    ...storageProblems(sim, []),
    ...storage.devices.held.map((path) => `a loop device of ${path}`),
    ...(storage.controller?.attached ?? []).map((name) => `attachment ${name}`),
    ...(cluster?.volumesInUse ?? []).map((name) => `in use ${name}`),
    // Empty folders stay, as with kubelets.
    ...machine.files.filesBelow(pluginFolder).map((path) => `file ${path}`),
  ];
}
