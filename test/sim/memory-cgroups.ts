import { podCgroupResources } from "../../src/core/resource/cgroup-resources.ts";
import type { PodCgroupControl } from "../../src/engine/execute/resize-pod.ts";
import type { CgroupResources } from "../../src/model/cgroup.ts";
import type { Pod } from "../../src/model/pod.ts";

/** The cgroups of pods, in memory. */
export class MemoryCgroups implements PodCgroupControl {
  readonly byUid: Map<string, CgroupResources> = new Map();
  usageBytes = 0n;

  wanted(pod: Pod): CgroupResources {
    return podCgroupResources(pod, { enforceCpuLimits: true, cpuPeriodUs: 100_000 });
  }

  read({ metadata }: Pod): CgroupResources {
    const found = this.byUid.get(metadata.uid);
    if (found === undefined) throw new Error(`no cgroup of ${metadata.uid}`);
    return found;
  }

  async update({ metadata }: Pod, resources: CgroupResources): Promise<void> {
    this.byUid.set(metadata.uid, { ...this.byUid.get(metadata.uid), ...resources });
  }

  memoryUsageBytes(): bigint {
    return this.usageBytes;
  }
}
