import { ContainerState, PodSandboxState } from "../model/generated/cri.ts";
import { podNameLabel, podNamespaceLabel, podUidLabel } from "../model/labels.ts";
import type { ObservedPod } from "../model/observed.ts";
import type { ContainerRuntime } from "../ports/container-runtime.ts";
import { rawContainerId } from "./execute/container-id.ts";

/** One listing of the whole runtime, reduced to what tells whether a pod must be read again. */
export interface RuntimeListing {
  /** By pod UID: which sandboxes and containers exist, in which states. */
  readonly fingerprints: ReadonlyMap<string, string>;
  /** The pod of each sandbox and container id. */
  readonly podOfId: ReadonlyMap<string, string>;
  /** By pod UID: namespace/name. */
  readonly keys: ReadonlyMap<string, string>;
}

export async function listRuntime(
  runtime: ContainerRuntime,
  signal: AbortSignal,
): Promise<RuntimeListing> {
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandboxes({}, signal),
    runtime.listContainers({}, signal),
  ]);
  const parts = new Map<string, string[]>();
  const podOfId = new Map<string, string>();
  const keys = new Map<string, string>();
  const add = (labels: Readonly<Record<string, string>>, id: string, part: string): void => {
    const uid = labels[podUidLabel];
    // What carries no pod UID was made by somebody else and is none of the agent's business.
    if (uid === undefined) return;
    podOfId.set(id, uid);
    keys.set(uid, `${labels[podNamespaceLabel]}/${labels[podNameLabel]}`);
    parts.set(uid, [...(parts.get(uid) ?? []), part]);
  };
  for (const { id = "", labels = {}, state } of sandboxes) {
    add(labels, id, sandboxPart(id, (state ?? 0) === PodSandboxState.SANDBOX_READY));
  }
  for (const { id = "", labels = {}, state } of containers) {
    add(labels, id, containerPart(id, stateNames[state ?? ContainerState.CONTAINER_CREATED]));
  }
  const fingerprints = new Map([...parts].map(([uid, list]) => [uid, joined(list)]));
  return { fingerprints, podOfId, keys };
}

/** The same fingerprint of a pod that was read; "" for one the runtime has nothing of. */
export function fingerprintOf({ sandboxes, containers }: ObservedPod): string {
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
