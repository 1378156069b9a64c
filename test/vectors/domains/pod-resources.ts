import {
  type CgroupDriver,
  type CgroupName,
  cgroupPath,
  parseCgroupPath,
  podCgroupName,
  podUidOfCgroup,
} from "../../../src/core/resource/cgroup-name.ts";
import { podCgroupResources } from "../../../src/core/resource/cgroup-resources.ts";
import { isCriticalPod, isNodeCriticalPod } from "../../../src/core/resource/critical.ts";
import { containerOomScoreAdjust } from "../../../src/core/resource/oom-score.ts";
import { podLimits, podRequests } from "../../../src/core/resource/pod-resources.ts";
import { computeQosClass, podQosClass } from "../../../src/core/resource/qos.ts";
import { type Pod, podContainers } from "../../../src/model/pod.ts";
import { type Quantity, quantityMilliValue, quantityValue } from "../../../src/model/quantity.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface PodResourcesInput {
  readonly pod: Pod;
  readonly enforceCPULimits: boolean;
  readonly cpuPeriod: number;
  readonly memoryCapacity: number;
  readonly cgroupRoot: CgroupName;
}

export const podResources: VectorDomain = vectorDomain<PodResourcesInput>(
  "pod-resources",
  ({ pod, enforceCPULimits, cpuPeriod, memoryCapacity, cgroupRoot }) => ({
    qosClass: podQosClass(pod),
    computedQOSClass: computeQosClass(pod),
    isCritical: isCriticalPod(pod),
    isNodeCritical: isNodeCriticalPod(pod),
    podRequests: encodeList(podRequests(pod)),
    podLimits: encodeList(podLimits(pod)),
    resourceConfig: encodeConfig(pod, enforceCPULimits, cpuPeriod),
    cgroupName: podCgroupName(cgroupRoot, pod),
    systemd: encodeCgroup(cgroupRoot, pod, "systemd"),
    cgroupfs: encodeCgroup(cgroupRoot, pod, "cgroupfs"),
    oomScoreAdj: Object.fromEntries(
      podContainers(pod).map(({ container }) => [
        container.name,
        containerOomScoreAdjust(pod, container, memoryCapacity),
      ]),
    ),
  }),
);

function encodeList(list: ReadonlyMap<string, Quantity>): unknown {
  return Object.fromEntries(
    [...list].map(([name, amount]) =>
      name === "cpu"
        ? ["cpuMilli", Number(quantityMilliValue(amount))]
        : [name, Number(quantityValue(amount))],
    ),
  );
}

function encodeConfig(pod: Pod, enforceCpuLimits: boolean, cpuPeriodUs: number): unknown {
  const config = podCgroupResources(pod, { enforceCpuLimits, cpuPeriodUs });
  const { hugePageLimits } = config;
  return {
    cpuShares: config.cpuShares,
    cpuQuota: config.cpuQuotaUs,
    cpuPeriod: config.cpuPeriodUs,
    memory: config.memoryBytes === undefined ? undefined : Number(config.memoryBytes),
    hugePageLimit:
      hugePageLimits instanceof Map
        ? Object.fromEntries([...hugePageLimits].map(([size, limit]) => [size, Number(limit)]))
        : undefined,
  };
}

function encodeCgroup(root: CgroupName, pod: Pod, driver: CgroupDriver): unknown {
  const path = cgroupPath(podCgroupName(root, pod), driver);
  if (!path.ok) return { error: path.error };
  const uid = podUidOfCgroup(root, parseCgroupPath(path.value, driver));
  return { path: path.value, isPodCgroup: uid !== undefined, uidFromPath: uid ?? "" };
}
