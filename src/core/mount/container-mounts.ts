import { quoteText } from "../../lib/go-text.ts";
import { cleanPath, joinPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type ImageSpec, type Mount, MountPropagation } from "../../model/generated/cri.ts";
import type { VolumeMount } from "../../model/generated/kubernetes.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { podHostsFile } from "../paths/data-paths.ts";
import { mountSubPath } from "./mount-sub-path.ts";
import { isRecursiveReadOnly } from "./recursive-read-only.ts";

const hostsPath = "/etc/hosts";

/** A volume of a pod that is set up on the node. */
export interface MountedVolume {
  /** The type of the volume, for messages. */
  readonly kind: string;
  readonly path: string;
  readonly readOnly: boolean;
  /** Whether the agent manages the volume's ownership and labels. */
  readonly managed: boolean;
  readonly selinuxRelabel: boolean;
  /** Whether it was mounted with the pod's SELinux label already. */
  readonly selinuxLabeled: boolean;
  /** The image that the runtime mounts itself, for a volume of that kind. */
  readonly image?: ImageSpec | undefined;
}

export interface ContainerMount extends Mount {
  readonly name: string;
  /** The part of a volume to mount: to be bound, safe from links that lead out of it, before the container starts. */
  readonly subPath?: SubPath | undefined;
}

interface SubPath {
  readonly volumePath: string;
  readonly path: string;
  readonly mountIndex: number;
}

export interface MountInputs {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly podIps: readonly string[];
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  readonly environment: ReadonlyMap<string, string>;
  readonly supportsRecursiveReadOnly: boolean;
  /** The agent's data folder. */
  readonly dataRoot: string;
}

/** The mounts of a container: its volume mounts in order, and at the end the hosts file unless one is there. */
export function containerMounts(inputs: MountInputs): Result<readonly ContainerMount[], string> {
  const { pod, container, podIps, dataRoot } = inputs;
  const mounts: ContainerMount[] = [];
  const volumeMounts = container.volumeMounts ?? [];
  for (const [index, volumeMount] of volumeMounts.entries()) {
    const mount = volumeToMount(inputs, volumeMount, index);
    if (!mount.ok) return mount;
    mounts.push(mount.value);
  }
  const mountsHosts =
    (podIps.length > 0 || pod.spec.hostNetwork === true) &&
    !volumeMounts.some(({ mountPath }) => mountPath === hostsPath);
  if (mountsHosts) mounts.push(hostsMount(podHostsFile(dataRoot, pod.metadata.uid)));
  return ok(mounts);
}

function volumeToMount(
  inputs: MountInputs,
  mount: VolumeMount,
  mountIndex: number,
): Result<ContainerMount, string> {
  const volume = inputs.volumes.get(mount.name);
  if (volume === undefined) {
    const container = quoteText(inputs.container.name);
    return err(`cannot find volume ${quoteText(mount.name)} to mount into container ${container}`);
  }
  const subPath = mountSubPath(mount, inputs.environment);
  if (!subPath.ok) return subPath;
  const source = mountSource(volume, subPath.value, mountIndex);
  if (!source.ok) return source;
  const propagation = runtimePropagation(mount.mountPropagation);
  if (!propagation.ok) return propagation;
  const recursive = isRecursiveReadOnly(mount, inputs.supportsRecursiveReadOnly);
  if (!recursive.ok) {
    return err(`failed to resolve recursive read-only mode: ${recursive.error}`);
  }
  return ok({
    name: mount.name,
    containerPath: mount.mountPath.startsWith("/")
      ? mount.mountPath
      : cleanPath(`/${mount.mountPath}`),
    ...source.value,
    readonly: mount.readOnly === true || volume.readOnly,
    recursiveReadOnly: recursive.value,
    selinuxRelabel: volume.managed && volume.selinuxRelabel && !volume.selinuxLabeled,
    propagation: propagation.value,
  });
}

type MountSource = Pick<ContainerMount, "hostPath" | "subPath" | "image" | "imageSubPath">;

function mountSource(
  volume: MountedVolume,
  subPath: string,
  mountIndex: number,
): Result<MountSource, string> {
  if (volume.image !== undefined) {
    return ok({ hostPath: "", image: volume.image, imageSubPath: subPath });
  }
  if (volume.path === "") return err(`path is empty ${volume.kind}`);
  if (subPath === "") return ok({ hostPath: volume.path });
  return ok({
    hostPath: joinPath(volume.path, subPath),
    subPath: { volumePath: volume.path, path: subPath, mountIndex },
  });
}

function runtimePropagation(mode: string | undefined): Result<MountPropagation, string> {
  switch (mode) {
    case undefined:
    case "None":
      return ok(MountPropagation.PROPAGATION_PRIVATE);
    case "HostToContainer":
      return ok(MountPropagation.PROPAGATION_HOST_TO_CONTAINER);
    case "Bidirectional":
      return ok(MountPropagation.PROPAGATION_BIDIRECTIONAL);
    default:
      return err(`invalid MountPropagation mode: ${quoteText(mode)}`);
  }
}

function hostsMount(hostPath: string): ContainerMount {
  return {
    name: "k8s-managed-etc-hosts",
    containerPath: hostsPath,
    hostPath,
    readonly: false,
    recursiveReadOnly: false,
    selinuxRelabel: true,
    propagation: MountPropagation.PROPAGATION_PRIVATE,
  };
}
