import type { PodStage } from "./pod-stage.ts";
import { type CgroupStageDeps, cgroupStage } from "./stages/cgroup-stage.ts";
import { type ClaimsStageDeps, claimsStage } from "./stages/claims-stage.ts";
import { type DevicesStageDeps, devicesStage } from "./stages/devices-stage.ts";
import { type FoldersStageDeps, foldersStage } from "./stages/folders-stage.ts";
import { objectsStage, type PodObjects } from "./stages/objects-stage.ts";
import { type PodProbes, probesStage } from "./stages/probes-stage.ts";
import { type VolumesStageDeps, volumesStage } from "./stages/volumes-stage.ts";

export interface PodStagesDeps
  extends CgroupStageDeps,
    DevicesStageDeps,
    ClaimsStageDeps,
    Omit<FoldersStageDeps, keyof VolumesStageDeps>,
    VolumesStageDeps {
  readonly objects: PodObjects;
  readonly prober: PodProbes;
}

/** What a pod needs, in the order in which it is prepared; it is given back in reverse order. */
export function createPodStages(deps: PodStagesDeps): readonly PodStage[] {
  return [
    objectsStage(deps.objects),
    // Before the cgroup: that of a pod with CPUs of its own has no quota.
    devicesStage(deps),
    cgroupStage(deps),
    foldersStage(deps),
    claimsStage(deps),
    volumesStage(deps),
    probesStage(deps.prober),
  ];
}
