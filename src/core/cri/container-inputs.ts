import type { CDIDevice, Device, Mount, UserNamespace } from "../../model/generated/cri.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import type { ImageUser } from "./image-user.ts";

/** Where a container runs and has its memory; "" is anywhere. */
export interface ContainerPlace {
  readonly cpusetCpus: string;
  readonly cpusetMems: string;
  readonly hasExclusiveCpus: boolean;
}

/** What a container is made from, beyond its spec. */
export interface ContainerInputs {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly restartCount: number;
  /** The runtime's reference of the image. */
  readonly imageRef: string;
  readonly imageUser: ImageUser;
  readonly environment: ReadonlyMap<string, string>;
  readonly mounts: readonly Mount[];
  /** The file that the container's termination message is written to; undefined where there is none. */
  readonly terminationLogPath?: string | undefined;
  readonly devices?: readonly Device[] | undefined;
  readonly cdiDevices?: readonly CDIDevice[] | undefined;
  /** Annotations that devices ask for. */
  readonly deviceAnnotations?: Readonly<Record<string, string>> | undefined;
  readonly userNamespace?: UserNamespace | undefined;
  /** Groups that the pod's volumes belong to. */
  readonly extraGroups?: readonly number[] | undefined;
  /** The CPUs and NUMA nodes that it may use. */
  readonly place?: ContainerPlace | undefined;
  /** The runtime's id of the container whose processes an ephemeral container wants to see. */
  readonly targetContainerId?: string | undefined;
}
