import type { ImageUser } from "../../core/cri/image-user.ts";
import type { Result } from "../../lib/result.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import type {
  ContainerConfig,
  ImageSpec,
  LinuxContainerResources,
  PodSandboxConfig,
} from "../../model/generated/cri.ts";
import type { AnyContainer, PlacedContainer, Pod } from "../../model/pod.ts";
import type { StepFailure } from "./step-report.ts";

export interface ContainerConfigRequest {
  readonly pod: Pod;
  readonly placed: PlacedContainer;
  readonly restartCount: number;
  readonly podIps: readonly string[];
  readonly imageRef: string;
  /** Whom the image runs as, where that is known already. */
  readonly imageUser?: ImageUser | undefined;
  /** The images that the container mounts, by volume name. */
  readonly imageVolumes?: ReadonlyMap<string, ImageSpec> | undefined;
  /** The container whose process namespace an ephemeral container joins; the runtime's id. */
  readonly targetContainerId?: string | undefined;
}

/** Makes the runtime's configs for a pod of this node: names, mounts, environment, DNS, cgroups, security. */
export interface PodConfigs {
  sandboxConfig(pod: Pod, attempt: number): Promise<Result<PodSandboxConfig, string>>;
  containerConfig(
    request: ContainerConfigRequest,
    signal: AbortSignal,
  ): Promise<Result<ContainerConfig, StepFailure>>;
  /** The runtime handler of the pod's RuntimeClass; "" is the runtime's default. */
  runtimeHandler(pod: Pod): Result<string, string>;
  /** What a container may use, as its config says it. */
  containerResources(pod: Pod, container: AnyContainer): LinuxContainerResources;
  /** What the pod's containers may use together when its cgroup is set to this, and what the sandbox itself uses. */
  sandboxResources(
    pod: Pod,
    cgroup: CgroupResources,
  ): { readonly overhead: LinuxContainerResources; readonly resources: LinuxContainerResources };
}
