import type { Pod } from "../../../../src/model/pod.ts";
import type { Simulation } from "../simulation.ts";
import { findClaim } from "./storage-objects.ts";
import { volumePaths } from "./volume-paths.ts";

const pluginFolder = "/sim/plugins/kubernetes.io";

/** Volumes that are not yet as the pods want them. */
export function storageProblems(sim: Simulation, shown: readonly Pod[]): readonly string[] {
  const { storage } = sim;
  if (storage === undefined) return [];
  const active = shown.filter(({ status }) => !/^(Succeeded|Failed)$/.test(status?.phase ?? ""));
  const wanted = new Set(active.flatMap(volumePaths));
  const staged = storage.volumes.flatMap(({ handle, publishedAt, stagedAt }) => {
    const targets = [...publishedAt.keys()];
    const isIdle = stagedAt !== undefined && targets.length === 0;
    return [
      ...targets
        .filter((path) => !wanted.has(path))
        .map((path) => `${handle} is published at ${path}, which no pod wants`),
      ...(isIdle ? [`${handle} is staged for no pod`] : []),
    ];
  });
  return [...staged, ...active.flatMap((pod) => growthProblems(sim, pod))];
}

/** Claims that are smaller than their volumes, though a pod that runs could have them grow. */
function growthProblems({ storage }: Simulation, { spec, status }: Pod): readonly string[] {
  if (status?.phase !== "Running") return [];
  const used = new Set(
    spec.containers
      .flatMap(({ volumeMounts = [], volumeDevices = [] }) => [...volumeMounts, ...volumeDevices])
      .map(({ name }) => name),
  );
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim: source }) => {
    const claim = findClaim(source?.claimName ?? "");
    if (claim === undefined || source?.readOnly === true || !used.has(name)) return [];
    const sizes = storage?.resizer?.sizesOf(claim);
    if (sizes === undefined || (sizes.claim >= sizes.volume && sizes.node === "")) return [];
    return [`${claim.claim} has ${sizes.claim} bytes of ${sizes.volume} (${sizes.node})`];
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
