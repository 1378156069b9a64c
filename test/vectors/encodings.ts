// The encodings that several domains share, as the vectors' documentation defines them.

import { compareText } from "../../src/lib/compare-text.ts";
import { parseTime } from "../../src/lib/time.ts";
import { containerId, podUid } from "../../src/model/ids.ts";
import type {
  ObservedContainer,
  ObservedContainerState,
  ObservedPod,
  ObservedResources,
  ObservedSandbox,
  ObservedUser,
} from "../../src/model/observed.ts";
import type { ProbeResult, ProbeResults } from "../../src/model/probe.ts";

export interface EncodedPodStatus {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly ips?: readonly string[] | null;
  readonly containerStatuses?: readonly EncodedContainerStatus[] | null;
  readonly sandboxStatuses?: readonly EncodedSandboxStatus[] | null;
  readonly activeContainerStatusIDs?: readonly string[] | null;
}

export interface EncodedContainerStatus {
  readonly id: string;
  readonly name: string;
  readonly state: ObservedContainerState;
  readonly exitCode: number;
  readonly restartCount: number;
  readonly hash: string;
  readonly createdAt?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly image?: string;
  readonly imageID?: string;
  readonly imageRef?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly resources?: ObservedResources;
  readonly user?: ObservedUser;
}

interface EncodedSandboxStatus {
  readonly id: string;
  readonly state: "SANDBOX_READY" | "SANDBOX_NOTREADY";
  readonly attempt: number;
  readonly networkNamespace: "POD" | "NODE";
  readonly ip: string | null;
}

export function decodePodStatus(status: EncodedPodStatus): ObservedPod {
  return {
    uid: podUid(status.id),
    name: status.name,
    namespace: status.namespace,
    ips: status.ips ?? [],
    containers: (status.containerStatuses ?? []).map(decodeContainerStatus),
    sandboxes: (status.sandboxStatuses ?? []).map(decodeSandboxStatus),
    activeContainerIds: (status.activeContainerStatusIDs ?? []).map(containerId),
  };
}

function decodeContainerStatus(status: EncodedContainerStatus): ObservedContainer {
  return {
    id: containerId(status.id),
    name: status.name,
    state: status.state,
    createdAtMs: decodeTime(status.createdAt),
    startedAtMs: decodeTime(status.startedAt),
    finishedAtMs: decodeTime(status.finishedAt),
    exitCode: status.exitCode,
    image: status.image ?? "",
    imageId: status.imageID ?? "",
    imageRef: status.imageRef ?? "",
    hash: status.hash,
    restartCount: status.restartCount,
    reason: status.reason ?? "",
    message: status.message ?? "",
    resources: status.resources,
    user: status.user,
  };
}

export function decodeProbeResults(
  results: Readonly<Record<string, ProbeResult>> | undefined,
): ProbeResults {
  return new Map(Object.entries(results ?? {}));
}

function decodeSandboxStatus(status: EncodedSandboxStatus): ObservedSandbox {
  return {
    id: status.id,
    state: status.state === "SANDBOX_READY" ? "ready" : "notReady",
    attempt: status.attempt,
    createdAtMs: 0,
    network: status.networkNamespace === "NODE" ? "node" : "pod",
    ips: status.ip === null ? undefined : [status.ip].filter((ip) => ip !== ""),
  };
}

function decodeTime(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseTime(text);
}

/** API objects without the nulls that stand for zero times, as they are inside the agent. */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => [name, withoutNulls(field)]),
  ) as T;
}

/** The fields of an object in the order of their names. */
export function byName(object: object): [string, unknown][] {
  return Object.entries(object).toSorted(([a], [b]) => compareText(a, b));
}
