// A pod with all that is known of it, laid out like kubectl's describe.
import type { Event, Toleration } from "../../model/generated/kubernetes.ts";
import type { Holding } from "../../model/holding.ts";
import type { Pod } from "../../model/pod.ts";
import { ageSince } from "../../model/pod-row.ts";
import { describeContainers } from "./describe-container.ts";
import { describeEvents } from "./describe-events.ts";
import { describeVolumes } from "./describe-volume.ts";
import { formatLocalTime } from "./local-time.ts";
import { Outline } from "./outline.ts";

type Labels = Readonly<Record<string, string>> | undefined;

const longestAnnotation = 140;
const hiddenAnnotations = new Set(["kubectl.kubernetes.io/last-applied-configuration"]);

/** What is known of a pod beside its object. */
export interface PodSurroundings {
  readonly events: readonly Event[];
  readonly holdings: readonly Holding[];
}

export function describePod(
  pod: Pod,
  { events, holdings }: PodSurroundings,
  nowMs: number,
): string {
  const out = new Outline();
  const { spec, status } = pod;
  describeIdentity(out, pod);
  describeState(out, pod, nowMs);
  out.line(0, "IP:", status?.podIP ?? "");
  const ips = status?.podIPs ?? [];
  if (ips.length === 0) {
    out.line(0, "IPs:", "<none>");
  } else {
    out.line(0, "IPs:");
    for (const { ip } of ips) out.line(1, "IP:", ip);
  }
  const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller === true);
  if (controller !== undefined) {
    out.line(0, "Controlled By:", `${controller.kind}/${controller.name}`);
  }
  const { initContainers, containers, ephemeralContainers } = spec;
  if ((initContainers ?? []).length > 0) {
    const statuses = status?.initContainerStatuses;
    const inits = { containers: initContainers, statuses, holdings };
    describeContainers(out, "Init Containers", inits);
  }
  const statuses = status?.containerStatuses;
  describeContainers(out, "Containers", { containers, statuses, holdings });
  if ((ephemeralContainers ?? []).length > 0) {
    const added = { containers: ephemeralContainers, statuses: status?.ephemeralContainerStatuses };
    describeContainers(out, "Ephemeral Containers", { ...added, holdings });
  }
  describeConditions(out, pod);
  describeVolumes(out, spec.volumes ?? []);
  out.line(0, "QoS Class:", status?.qosClass ?? "<unknown>");
  out.list(0, "Node-Selectors:", keyValues(spec.nodeSelector));
  out.list(0, "Tolerations:", (spec.tolerations ?? []).map(tolerationText).toSorted());
  describeEvents(out, events, nowMs);
  return out.toString();
}

function describeIdentity(out: Outline, { metadata, spec, status }: Pod): void {
  out.line(0, "Name:", metadata.name);
  out.line(0, "Namespace:", metadata.namespace);
  if (spec.priority !== undefined) out.line(0, "Priority:", String(spec.priority));
  optional(out, "Priority Class Name:", spec.priorityClassName);
  optional(out, "Runtime Class Name:", spec.runtimeClassName);
  optional(out, "Service Account:", spec.serviceAccountName);
  const node = spec.nodeName ?? "";
  out.line(0, "Node:", node === "" ? "<none>" : `${node}/${status?.hostIP ?? ""}`);
  if (status?.startTime !== undefined) {
    out.line(0, "Start Time:", formatLocalTime(status.startTime));
  }
  out.list(0, "Labels:", keyValues(metadata.labels));
  out.list(0, "Annotations:", annotationLines(metadata.annotations));
}

function describeState(out: Outline, { metadata, spec, status }: Pod, nowMs: number): void {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const phase = status?.phase ?? "Pending";
  if (deletionTimestamp !== undefined && phase !== "Failed" && phase !== "Succeeded") {
    out.line(0, "Status:", `Terminating (lasts ${ageSince(deletionTimestamp, nowMs)})`);
    out.line(0, "Termination Grace Period:", `${deletionGracePeriodSeconds ?? 0}s`);
  } else {
    out.line(0, "Status:", phase);
  }
  optional(out, "Reason:", status?.reason);
  optional(out, "Message:", status?.message);
  const profile = spec.securityContext?.seccompProfile;
  optional(out, "SeccompProfile:", profile?.type);
  optional(out, "LocalhostProfile:", profile?.localhostProfile);
}

function describeConditions(out: Outline, { spec, status }: Pod): void {
  const conditions = status?.conditions ?? [];
  const gates = spec.readinessGates ?? [];
  if (gates.length > 0) {
    out.line(0, "Readiness Gates:");
    out.line(1, "Type", "Status");
    for (const { conditionType } of gates) {
      const found = conditions.find(({ type }) => type === conditionType);
      out.line(1, conditionType, found?.status ?? "<none>");
    }
  }
  if (conditions.length === 0) return;
  out.line(0, "Conditions:");
  // Beyond kubectl: the reason is what one looks for when a condition is not met.
  out.line(1, "Type", "Status", "Reason");
  for (const { type, status: value, reason, message } of conditions) {
    const why = [reason, message].filter((text) => (text ?? "") !== "").join(": ");
    out.line(1, type, value, why);
  }
}

function optional(out: Outline, key: string, value: string | undefined): void {
  if (value !== undefined && value !== "") out.line(0, key, value);
}

function keyValues(labels: Labels): string[] {
  return Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .toSorted();
}

function annotationLines(annotations: Labels): string[] {
  return Object.entries(annotations ?? {})
    .filter(([key]) => !hiddenAnnotations.has(key))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, value]) => {
      const text = value.replace(/\n$/, "");
      if (key.length + text.length + 2 <= longestAnnotation && !text.includes("\n")) {
        return [`${key}: ${text}`];
      }
      return [`${key}:`, ...text.split("\n").map((line) => `  ${shorten(line)}`)];
    });
}

function shorten(text: string): string {
  return text.length > longestAnnotation - 2 ? `${text.slice(0, longestAnnotation - 2)}...` : text;
}

function tolerationText(toleration: Toleration): string {
  const { key = "", operator, value = "", effect = "", tolerationSeconds } = toleration;
  const matches = `${key}${value === "" ? "" : `=${value}`}${effect === "" ? "" : `:${effect}`}`;
  const exists = operator === "Exists" && value === "" ? "op=Exists" : "";
  const lasts = tolerationSeconds === undefined ? "" : `for ${tolerationSeconds}s`;
  return [matches, exists, lasts].filter((part) => part !== "").join(" ");
}
