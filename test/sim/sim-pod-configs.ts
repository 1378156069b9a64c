import { containerConfig } from "../../src/core/cri/container-config.ts";
import {
  containerResources,
  overheadResources,
  resizedSandboxResources,
} from "../../src/core/cri/linux-resources.ts";
import type { RuntimeSettings } from "../../src/core/cri/runtime-settings.ts";
import { sandboxConfig } from "../../src/core/cri/sandbox-config.ts";
import { usersBeyondTheNodes, usualUsersPerPod } from "../../src/core/cri/user-namespace.ts";
import type {
  ContainerConfigRequest,
  PodConfigs,
} from "../../src/engine/execute/node-pod-configs.ts";
import type { StepFailure } from "../../src/engine/execute/step-report.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";
import type { CgroupResources } from "../../src/model/cgroup.ts";
import type {
  ContainerConfig,
  LinuxContainerResources,
  PodSandboxConfig,
} from "../../src/model/generated/cri.ts";
import type { AnyContainer, Pod } from "../../src/model/pod.ts";

/** A machine with nothing special about it. */
export const simSettings: RuntimeSettings = {
  podLogsRoot: "/var/log/pods",
  seccompProfileRoot: "/var/lib/kubelet/seccomp",
  seccompDefault: false,
  cgroupVersion: 2,
  cpuCfsQuota: true,
  cpuCfsPeriodUs: 100_000,
  singleProcessOomKill: false,
  memoryCapacityBytes: 8 * 1024 ** 3,
  swap: { controllerAvailable: false, behavior: "NoSwap", capacityBytes: 0 },
  hugePageSizes: [],
  extraMaskedPaths: [],
  seLinux: undefined,
  podUsers: usersBeyondTheNodes(usualUsersPerPod),
  containerStopSignals: false,
};

/** The runtime's configs of pods that need nothing of the node: no volumes, no objects, no DNS. */
export class SimPodConfigs implements PodConfigs {
  async sandboxConfig(pod: Pod, attempt: number): Promise<Result<PodSandboxConfig, string>> {
    const { name } = pod.metadata;
    const inputs = { pod, attempt, dns: undefined, hostname: name, cgroupParent: `/pods/${name}` };
    return sandboxConfig(inputs, simSettings);
  }

  async containerConfig({
    placed,
    ...request
  }: ContainerConfigRequest): Promise<Result<ContainerConfig, StepFailure>> {
    const { container } = placed;
    const inputs = { ...request, container, environment: new Map(), mounts: [] };
    const imageUser = { uid: 0n, username: "" };
    const config = containerConfig({ ...inputs, imageUser }, simSettings);
    return config.ok ? config : err({ code: "CreateContainerConfigError", message: config.error });
  }

  runtimeHandler(): Result<string, string> {
    return ok("");
  }

  containerResources(pod: Pod, container: AnyContainer): LinuxContainerResources {
    return containerResources(pod, container, false, simSettings);
  }

  sandboxResources(pod: Pod, cgroup: CgroupResources): ReturnType<PodConfigs["sandboxResources"]> {
    return {
      overhead: overheadResources(pod, simSettings),
      resources: resizedSandboxResources(pod, cgroup),
    };
  }
}
