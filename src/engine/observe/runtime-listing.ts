import { beginAll } from "../../lib/begin-all.ts";
import {
  type Container,
  ContainerState,
  type PodSandbox,
  PodSandboxState,
} from "../../model/generated/cri.ts";
import { type PodUid, podUid, rawContainerId } from "../../model/ids.ts";
import { podNameLabel, podNamespaceLabel, podUidLabel } from "../../model/labels.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";

/** What the runtime's lists have of one pod. */
export interface ListedPod {
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly Container[];
  /** When the lists were asked for. */
  readonly listedAtMs: number;
}

/** One listing of the whole runtime. */
export interface RuntimeListing {
  /** By pod UID. */
  readonly pods: ReadonlyMap<PodUid, ListedPod>;
  /** The pod of each sandbox and container id. */
  readonly podOfId: ReadonlyMap<string, PodUid>;
  /** By pod UID: namespace/name. */
  readonly keys: ReadonlyMap<PodUid, string>;
}

/** All that the runtime has with those labels. */
export async function listLabelled(
  runtime: ContainerRuntime,
  clock: Pick<Clock, "nowMs">,
  labelSelector: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ListedPod> {
  const listedAtMs = clock.nowMs();
  const [sandboxes, containers] = await beginAll(
    () => runtime.listPodSandboxes({ labelSelector }, signal),
    () => runtime.listContainers({ labelSelector }, signal),
  );
  return { sandboxes, containers, listedAtMs };
}

export async function listRuntime(
  runtime: ContainerRuntime,
  clock: Pick<Clock, "nowMs">,
  signal: AbortSignal,
): Promise<RuntimeListing> {
  const { sandboxes, containers, listedAtMs } = await listLabelled(runtime, clock, {}, signal);
  const pods = new Map<
    PodUid,
    { sandboxes: PodSandbox[]; containers: Container[]; listedAtMs: number }
  >();
  const podOfId = new Map<string, PodUid>();
  const keys = new Map<PodUid, string>();
  const partOf = ({ id = "", labels = {} }: PodSandbox | Container) => {
    const label = labels[podUidLabel];
    // What carries no pod UID was made by another client and is ignored.
    if (label === undefined) return undefined;
    const uid = podUid(label);
    podOfId.set(id, uid);
    keys.set(uid, `${labels[podNamespaceLabel]}/${labels[podNameLabel]}`);
    const pod = pods.get(uid) ?? { sandboxes: [], containers: [], listedAtMs };
    pods.set(uid, pod);
    return pod;
  };
  for (const sandbox of sandboxes) partOf(sandbox)?.sandboxes.push(sandbox);
  for (const container of containers) partOf(container)?.containers.push(container);
  return { pods, podOfId, keys };
}

/** Changes when a pod must be read again: which sandboxes and containers exist, in which states. */
export function listedFingerprint({ sandboxes, containers }: ListedPod): string {
  return joined([
    ...sandboxes.map(({ id = "", state }) =>
      sandboxPart(id, (state ?? 0) === PodSandboxState.SANDBOX_READY),
    ),
    ...containers.map(({ id = "", state }) =>
      containerPart(id, stateNames[state ?? ContainerState.CONTAINER_CREATED]),
    ),
  ]);
}

/** The same fingerprint of a pod that was read; "" for one the runtime has nothing of, and for one never read. */
export function fingerprintOf(observed: ObservedPod | undefined): string {
  const { sandboxes = [], containers = [] } = observed ?? {};
  return joined([
    ...sandboxes.map(({ id, state }) => sandboxPart(id, state === "ready")),
    ...containers.map(({ id, state }) => containerPart(rawContainerId(id), state)),
  ]);
}

const stateNames = {
  [ContainerState.CONTAINER_CREATED]: "created",
  [ContainerState.CONTAINER_RUNNING]: "running",
  [ContainerState.CONTAINER_EXITED]: "exited",
  [ContainerState.CONTAINER_UNKNOWN]: "unknown",
} as const;

function sandboxPart(id: string, ready: boolean): string {
  return `sandbox ${id} ${ready ? "ready" : "not ready"}`;
}

function containerPart(id: string, state: string): string {
  return `container ${id} ${state}`;
}

function joined(parts: readonly string[]): string {
  return parts.toSorted().join("\n");
}

/** False for one that was never read: it may have ended right after its start. */
export function hasEnded({ containers, sandboxes }: ObservedPod, id: string): boolean {
  return (
    containers.some(
      (container) => rawContainerId(container.id) === id && container.state === "exited",
    ) || sandboxes.some((sandbox) => sandbox.id === id && sandbox.state !== "ready")
  );
}
