import type { CgroupResources } from "../../model/cgroup.ts";
import type { LinuxContainerResources } from "../../model/generated/cri.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { ObservedResources } from "../../model/observed.ts";
import {
  formatQuantity,
  isZeroQuantity,
  milliQuantity,
  mustParseQuantity,
  wholeQuantity,
} from "../../model/quantity.ts";
import { quotaToMilliCpu, sharesToMilliCpu } from "../resource/cpu.ts";

const unreachableBytes = 2n ** 62n;

/** What the runtime applies, completed by what the agent last gave it: a runtime knows no memory request. */
export function observedResources(
  reported: LinuxContainerResources | undefined,
  actuated: ResourceRequirements | undefined,
): ObservedResources | undefined {
  const resources = reportedResources(reported);
  if (actuated === undefined) return resources;
  if (resources === undefined) {
    return {
      cpuRequest: actuated.requests?.["cpu"] ?? "0",
      cpuLimit: actuated.limits?.["cpu"] ?? "0",
      memoryRequest: actuated.requests?.["memory"] ?? "0",
      memoryLimit: actuated.limits?.["memory"] ?? "0",
    };
  }
  const memoryRequest = actuated.requests?.["memory"];
  if (memoryRequest === undefined || isZeroQuantity(mustParseQuantity(memoryRequest))) {
    return resources;
  }
  return { ...resources, memoryRequest };
}

/** What a pod's cgroup is set to; the kernel shows a memory limit that is not there as one that none reaches. */
export function cgroupResourcesInForce(cgroup: CgroupResources): ObservedResources | undefined {
  const { cpuShares = 0, cpuQuotaUs = 0, cpuPeriodUs = 0, memoryBytes = 0n } = cgroup;
  return reportedResources({
    cpuShares: BigInt(cpuShares),
    cpuQuota: BigInt(cpuQuotaUs),
    cpuPeriod: BigInt(cpuPeriodUs),
    memoryLimitInBytes: memoryBytes < unreachableBytes ? memoryBytes : 0n,
  });
}

/** Undefined where the runtime reports nothing of use. */
function reportedResources(
  linux: LinuxContainerResources | undefined,
): ObservedResources | undefined {
  const { cpuShares = 0n, cpuQuota = 0n, cpuPeriod = 0n, memoryLimitInBytes = 0n } = linux ?? {};
  const cpuRequest = milliText(sharesToMilliCpu(Number(cpuShares)));
  const cpuLimit =
    cpuPeriod > 0n ? milliText(quotaToMilliCpu(Number(cpuQuota), Number(cpuPeriod))) : undefined;
  const memoryLimit =
    memoryLimitInBytes > 0n
      ? formatQuantity(wholeQuantity(memoryLimitInBytes, "BinarySI"))
      : undefined;
  const isKnown = [cpuRequest, cpuLimit, memoryLimit].some((text) => text !== undefined);
  return isKnown ? { cpuRequest, cpuLimit, memoryLimit } : undefined;
}

function milliText(milliCpu: number): string | undefined {
  return milliCpu > 0 ? formatQuantity(milliQuantity(BigInt(milliCpu), "DecimalSI")) : undefined;
}
