import type { CgroupResources } from "../../model/cgroup.ts";
import type { LinuxContainerResources } from "../../model/generated/cri.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import {
  isZeroQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
} from "../../model/quantity.ts";
import { milliCpuToQuota, milliCpuToShares, sharesToMilliCpu } from "../resource/cpu.ts";
import { containerMemoryFiles } from "../resource/memory-qos.ts";
import { containerOomScoreAdjust } from "../resource/oom-score.ts";
import { hasPodLevelResources, podLimits, podRequests } from "../resource/pod-resources.ts";
import { amountOf, resourceList } from "../resource/resource-list.ts";
import { hugePageLimits } from "./huge-page-limits.ts";
import type { RuntimeSettings } from "./runtime-settings.ts";
import { withSwap } from "./swap-limit.ts";

interface Amounts {
  /** Undefined where nothing is requested: then the limit counts as request. */
  readonly cpuRequest: Quantity | undefined;
  readonly cpuLimit: Quantity;
  readonly memoryLimit: Quantity;
  /** CPUs of one's own need no quota. */
  readonly hasExclusiveCpus: boolean;
}

/** What the runtime lets a container use. */
export function containerResources(
  pod: Pod,
  container: AnyContainer,
  hasExclusiveCpus: boolean,
  settings: RuntimeSettings,
): LinuxContainerResources {
  const resources = linuxResources(
    {
      cpuRequest: resourceList(container.resources?.requests).get("cpu"),
      cpuLimit: effectiveLimit(pod, container, "cpu"),
      memoryLimit: effectiveLimit(pod, container, "memory"),
      hasExclusiveCpus,
    },
    settings,
  );
  const scored: LinuxContainerResources = {
    ...resources,
    oomScoreAdj: BigInt(containerOomScoreAdjust(pod, container, settings.memoryCapacityBytes)),
    hugepageLimits: hugePageLimits(pod, container, settings.hugePageSizes),
  };
  return withMemoryQos(withSwap(scored, pod, container, settings), pod, container, settings);
}

/** What the containers of a pod may use together, without the pod's overhead. */
export function sandboxResources(
  pod: Pod,
  hasExclusiveCpus: boolean,
  settings: RuntimeSettings,
): LinuxContainerResources {
  const limits = podLimits(pod, { excludeOverhead: true });
  return linuxResources(
    {
      cpuRequest: podRequests(pod, { excludeOverhead: true }).get("cpu"),
      cpuLimit: amountOf(limits, "cpu"),
      memoryLimit: amountOf(limits, "memory"),
      hasExclusiveCpus,
    },
    settings,
  );
}

/** What the sandbox itself uses, by the pod's RuntimeClass. */
export function overheadResources(pod: Pod, settings: RuntimeSettings): LinuxContainerResources {
  if (pod.spec.overhead === undefined) return {};
  const overhead = resourceList(pod.spec.overhead);
  const cpu = amountOf(overhead, "cpu");
  return linuxResources(
    {
      cpuRequest: cpu,
      cpuLimit: cpu,
      memoryLimit: amountOf(overhead, "memory"),
      hasExclusiveCpus: false,
    },
    settings,
  );
}

/** The resources of a pod's cgroup as they are passed to the runtime after a resize: without the overhead. */
export function resizedSandboxResources(
  pod: Pod,
  cgroup: CgroupResources,
): LinuxContainerResources {
  const overhead = resourceList(pod.spec.overhead);
  const milliCpu = Number(quantityMilliValue(amountOf(overhead, "cpu")));
  const memoryBytes = quantityValue(amountOf(overhead, "memory"));
  const { cpuPeriodUs, cpuQuotaUs, cpuShares } = cgroup;
  const overheadQuotaUs = cpuPeriodUs === undefined ? 0 : milliCpuToQuota(milliCpu, cpuPeriodUs);
  return {
    cpuPeriod: bigintOf(cpuPeriodUs),
    cpuQuota: bigintOf(cpuQuotaUs === undefined ? undefined : cpuQuotaUs - overheadQuotaUs),
    cpuShares: bigintOf(
      cpuShares === undefined || !overhead.has("cpu")
        ? cpuShares
        : milliCpuToShares(sharesToMilliCpu(cpuShares) - milliCpu),
    ),
    memoryLimitInBytes:
      cgroup.memoryBytes === undefined ? undefined : cgroup.memoryBytes - memoryBytes,
    unified: cgroup.unified,
  };
}

function linuxResources(amounts: Amounts, settings: RuntimeSettings): LinuxContainerResources {
  const { cpuLimit, cpuRequest = cpuLimit, memoryLimit, hasExclusiveCpus } = amounts;
  const memoryBytes = quantityValue(memoryLimit);
  const killsTogether = settings.cgroupVersion === 2 && !settings.singleProcessOomKill;
  return {
    cpuShares: BigInt(milliCpuToShares(Number(quantityMilliValue(cpuRequest)))),
    ...(memoryBytes === 0n ? {} : { memoryLimitInBytes: memoryBytes }),
    ...(settings.cpuCfsQuota ? quota(cpuLimit, hasExclusiveCpus, settings.cpuCfsPeriodUs) : {}),
    ...(killsTogether ? { unified: { "memory.oom.group": "1" } } : {}),
  };
}

function withMemoryQos(
  resources: LinuxContainerResources,
  pod: Pod,
  container: AnyContainer,
  { memoryQos, cgroupVersion, memoryCapacityBytes }: RuntimeSettings,
): LinuxContainerResources {
  if (memoryQos === undefined || cgroupVersion === 1) return resources;
  const files = containerMemoryFiles(pod, container, memoryQos, memoryCapacityBytes);
  return { ...resources, unified: { ...resources.unified, ...files } };
}

function quota(
  cpuLimit: Quantity,
  hasExclusiveCpus: boolean,
  periodUs: number,
): LinuxContainerResources {
  const quotaUs = milliCpuToQuota(Number(quantityMilliValue(cpuLimit)), periodUs);
  return { cpuQuota: hasExclusiveCpus ? -1n : BigInt(quotaUs), cpuPeriod: BigInt(periodUs) };
}

/** A container without a limit of its own has the pod's. */
function effectiveLimit(pod: Pod, container: AnyContainer, name: "cpu" | "memory"): Quantity {
  const own = amountOf(resourceList(container.resources?.limits), name);
  if (!isZeroQuantity(own) || !hasPodLevelResources(pod)) return own;
  return amountOf(resourceList(pod.spec.resources?.limits), name);
}

function bigintOf(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}
