import { isPathWithin } from "../../lib/path-within.ts";
import type { PodUid } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";

/** What decides when a pod is ended, where all of a node are. */
export interface EndingPod {
  readonly uid: PodUid;
  /** It may serve volumes of others. */
  readonly mayBeDriver: boolean;
  /** It has volumes that a driver serves. */
  readonly usesDriver: boolean;
}

/** Whether containers of the pod have the folder in which drivers register, and can write there; `hostPath` is resolved. */
export function mayBeDriver(
  { containers }: Pick<ObservedPod, "containers">,
  registryFolder: string,
): boolean {
  return containers.some(({ mounts = [] }) =>
    mounts.some(
      ({ hostPath, readOnly }) =>
        !readOnly &&
        (isPathWithin(hostPath, registryFolder) || isPathWithin(registryFolder, hostPath)),
    ),
  );
}

/**
 * The pods in the turns in which they are ended. The volumes of one turn are given back before the next one begins: a driver
 * lives until no pod has volumes of it. Among drivers, those that have volumes of others go first.
 */
export function endingTurns(pods: readonly EndingPod[]): readonly (readonly PodUid[])[] {
  const turns = [
    pods.filter((pod) => !pod.mayBeDriver),
    pods.filter((pod) => pod.mayBeDriver && pod.usesDriver),
    pods.filter((pod) => pod.mayBeDriver && !pod.usesDriver),
  ];
  // The first one also stands for the pods that have ended already.
  return turns
    .filter((turn, index) => index === 0 || turn.length > 0)
    .map((turn) => turn.map(({ uid }) => uid));
}

/** Whether a mount is of storage that lasts: below the node's folder of a plugin, or a disk or device of a pod. */
export function isStorageMount(rootFolder: string, mountPoint: string): boolean {
  // Of local volumes the file system is mounted there, which is the node's own.
  if (isPathWithin(mountPoint, `${rootFolder}/plugins/kubernetes.io/local-volume`)) return false;
  if (isPathWithin(mountPoint, `${rootFolder}/plugins/kubernetes.io`)) return true;
  if (!isPathWithin(mountPoint, `${rootFolder}/pods`)) return false;
  const [, kind, plugin] = mountPoint.slice(`${rootFolder}/pods/`.length).split("/");
  if (kind === "volumeDevices") return true;
  return kind === "volumes" && plugin !== undefined && lastingPlugins.has(plugin);
}

const lastingPlugins: ReadonlySet<string> = new Set([
  "kubernetes.io~csi",
  "kubernetes.io~fc",
  "kubernetes.io~iscsi",
]);
