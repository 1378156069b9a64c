import { compareText } from "../../lib/compare-text.ts";
import { parseIpAddress } from "../../lib/ip-address.ts";
import {
  type ContainerStatus,
  NamespaceMode,
  PodSandboxState,
  type PodSandboxStatus,
} from "../../model/generated/cri.ts";
import type { PodUid } from "../../model/ids.ts";
import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../../model/observed.ts";
import { leftoversLast } from "./classify-pod.ts";
import { type ContainerContext, observedContainer } from "./observed-container.ts";

export interface ReadContainer extends Pick<ContainerContext, "terminationMessage" | "actuated"> {
  readonly status: ContainerStatus;
  /** As the runtime's list of containers has it. */
  readonly sandboxId: string;
}

/** What was read of one pod from the runtime, in any order. */
export interface PodAnswers {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
  readonly runtimeName: string;
  readonly hasStopSignals?: boolean | undefined;
  readonly sandboxes: readonly PodSandboxStatus[];
  readonly containers: readonly ReadContainer[];
  /** When the runtime's lists were asked for: nothing younger can be missing. */
  readonly observedAtMs: number;
}

/** The runtime's view of one pod. */
export function observePod(reading: PodAnswers): ObservedPod {
  const { uid, name, namespace, runtimeName, hasStopSignals, observedAtMs } = reading;
  const { sandboxes, containers } = leftoversLast(
    reading.sandboxes.toSorted(newestSandboxFirst).map(observedSandbox),
    reading.containers
      .map(({ status, ...context }) =>
        observedContainer(status, { runtimeName, hasStopSignals, ...context }),
      )
      .toSorted(newestContainerFirst),
  );
  const [newest] = sandboxes;
  const active = newest?.state === "ready" ? newest : undefined;
  const activeStatus = reading.sandboxes.find(({ id = "" }) => id === active?.id);
  return {
    uid,
    name,
    namespace,
    ips: activeStatus === undefined ? [] : sandboxIps(activeStatus),
    containers,
    sandboxes,
    activeContainerIds: containers
      .filter(({ sandboxId }) => active !== undefined && sandboxId === active.id)
      .map(({ id }) => id),
    observedAtMs,
  };
}

function observedSandbox(status: PodSandboxStatus): ObservedSandbox {
  const { ip = "", additionalIps = [] } = status.network ?? {};
  const ips = ip === "" ? [] : [ip, ...additionalIps.map((additional) => additional.ip ?? "")];
  const mode = status.linux?.namespaces?.options?.network;
  return {
    id: status.id ?? "",
    state: status.state === PodSandboxState.SANDBOX_NOTREADY ? "notReady" : "ready",
    attempt: status.metadata?.attempt ?? 0,
    createdAtMs: Number(status.createdAt ?? 0n) / 1e6,
    network: mode === NamespaceMode.NODE ? "node" : "pod",
    ips: status.network && ips,
    runtimeHandler: status.runtimeHandler || undefined,
  };
}

/** The sandbox's addresses; none where one of them is invalid, since then none can be relied on. */
export function sandboxIps({ network }: PodSandboxStatus): string[] {
  const primary = network?.ip || undefined;
  const additional = (network?.additionalIps ?? []).map(({ ip }) => ip ?? "");
  const ips = primary === undefined ? additional : [primary, ...additional];
  return ips.every((ip) => parseIpAddress(ip) !== undefined) ? ips : [];
}

function newestContainerFirst(a: ObservedContainer, b: ObservedContainer): number {
  return (b.createdAtMs ?? 0) - (a.createdAtMs ?? 0) || compareText(a.id, b.id);
}

/** By attempt, then by creation: attempts are the agent's own count and do not depend on clocks. */
function newestSandboxFirst(a: PodSandboxStatus, b: PodSandboxStatus): number {
  const attempts = (b.metadata?.attempt ?? 0) - (a.metadata?.attempt ?? 0);
  if (attempts !== 0) return attempts;
  const [createdA, createdB] = [a.createdAt ?? 0n, b.createdAt ?? 0n];
  if (createdA !== createdB) return createdA > createdB ? -1 : 1;
  return compareText(a.id ?? "", b.id ?? "");
}
