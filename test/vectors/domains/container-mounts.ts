import {
  type ContainerMount,
  containerMounts,
  type MountedVolume,
} from "../../../src/core/mount/container-mounts.ts";
import { MountPropagation } from "../../../src/model/generated/cri.ts";
import { findContainer, type Pod } from "../../../src/model/pod.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Volume extends Omit<MountedVolume, "kind" | "image"> {
  readonly image?: string;
}

interface Input {
  readonly pod: Pod;
  readonly containerName: string;
  readonly podIPs: readonly string[] | null;
  readonly volumes: Readonly<Record<string, Volume>>;
  readonly env: Readonly<Record<string, string>>;
  readonly runtimeSupportsRecursiveReadOnly: boolean;
}

export const containerMountsDomain: VectorDomain = vectorDomain<Input>(
  "container-mounts",
  (input) => {
    const container = findContainer(input.pod, input.containerName)?.container;
    if (container === undefined) throw new Error(`no container ${input.containerName}`);
    const mounts = containerMounts({
      pod: input.pod,
      container,
      podIps: input.podIPs ?? [],
      volumes: new Map(
        Object.entries(input.volumes).map(([name, { image, ...volume }]) => [
          name,
          {
            ...volume,
            kind: "*kubelet.stubVolume",
            image: image === undefined ? image : { image },
          },
        ]),
      ),
      environment: new Map(Object.entries(input.env)),
      supportsRecursiveReadOnly: input.runtimeSupportsRecursiveReadOnly,
      dataRoot: "/data",
    });
    return mounts.ok ? { mounts: mounts.value.map(encodeMount) } : { error: mounts.error };
  },
);

function encodeMount(mount: ContainerMount): unknown {
  const { name, containerPath, hostPath, readonly, recursiveReadOnly, selinuxRelabel } = mount;
  const propagation = Object.entries(MountPropagation).find(
    ([, mode]) => mode === mount.propagation,
  );
  return {
    name,
    containerPath,
    hostPath: hostPath?.replace("/data/pods/u/", "PODDIR/"),
    readOnly: readonly,
    recursiveReadOnly,
    selinuxRelabel,
    propagation: propagation?.[0],
    image: mount.image?.image,
    imageSubPath: mount.imageSubPath,
  };
}
