import type { ContainerId, PodUid } from "./ids.ts";

/** The runtime's view of one pod: what exists, whatever was wanted. Newest entries first. */
export interface ObservedPod {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
  /** Addresses of the newest ready sandbox. */
  readonly ips: readonly string[];
  /** Every container the runtime knows of this pod; a look-up by name takes the first match. */
  readonly containers: readonly ObservedContainer[];
  readonly sandboxes: readonly ObservedSandbox[];
  /** Ids of the containers that belong to the newest sandbox, while it is ready. */
  readonly activeContainerIds: readonly ContainerId[];
  /** When the runtime was read; absent in a view that was never read (an empty pod). */
  readonly observedAtMs?: number | undefined;
}

export type ObservedContainerState = "created" | "running" | "exited" | "unknown";

/** Times are milliseconds since 1970 with fractions; absent = the runtime reported none. */
export interface ObservedContainer {
  readonly id: ContainerId;
  readonly name: string;
  readonly state: ObservedContainerState;
  readonly createdAtMs?: number | undefined;
  readonly startedAtMs?: number | undefined;
  readonly finishedAtMs?: number | undefined;
  readonly exitCode: number;
  readonly image: string;
  readonly imageId: string;
  readonly imageRef: string;
  readonly imageRuntimeHandler?: string | undefined;
  /** Hex hash of the spec that it was created with, as the kubelet's annotation has it. */
  readonly hash: string;
  readonly restartCount: number;
  readonly reason: string;
  readonly message: string;
  readonly resources?: ObservedResources | undefined;
  readonly user?: ObservedUser | undefined;
  readonly stopSignal?: string | undefined;
  readonly mounts?: readonly ObservedMount[] | undefined;
  readonly sandboxId?: string | undefined;
}

/** How a container ended, as the runtime reported at that moment. */
export interface ContainerExit {
  readonly exitCode: number;
  /** Nanoseconds since 1970. */
  readonly finishedAt: bigint;
}

/** Quantities as canonical strings. */
export interface ObservedResources {
  readonly cpuRequest?: string | undefined;
  readonly cpuLimit?: string | undefined;
  readonly memoryRequest?: string | undefined;
  readonly memoryLimit?: string | undefined;
}

export interface ObservedUser {
  readonly linux?:
    | {
        readonly uid: number;
        readonly gid: number;
        readonly supplementalGroups: readonly number[];
      }
    | undefined;
}

export interface ObservedMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly recursiveReadOnly: boolean;
  readonly image?: string | undefined;
}

export interface ObservedSandbox {
  readonly id: string;
  readonly state: "ready" | "notReady";
  readonly attempt: number;
  readonly createdAtMs: number;
  readonly network: "pod" | "node";
  /** All addresses, first the primary one; undefined = the runtime reported no network status. */
  readonly ips?: readonly string[] | undefined;
  readonly runtimeHandler?: string | undefined;
}

/** A pod the runtime knows nothing of. */
export function emptyObservedPod(uid: PodUid, name: string, namespace: string): ObservedPod {
  return { uid, name, namespace, ips: [], containers: [], sandboxes: [], activeContainerIds: [] };
}

/** The newest container of that name. */
export function findObserved(observed: ObservedPod, name: string): ObservedContainer | undefined {
  return observed.containers.find((container) => container.name === name);
}
