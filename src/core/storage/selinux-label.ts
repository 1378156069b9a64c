// With which SELinux context a volume is mounted, so that its files need not be relabelled one by one.
import { err, ok, type Result } from "../../lib/result.ts";
import type { SELinuxOptions } from "../../model/generated/kubernetes.ts";
import type { MetricName } from "../../model/generated/metrics.ts";
import { type Pod, podContainers } from "../../model/pod.ts";
import { csiDriverName } from "./csi/csi-volume.ts";
import { type VolumeSpec, volumeSpecName } from "./volume-spec.ts";

/** A node with SELinux enabled. */
export interface SeLinuxNode {
  /** The contexts of containers and of their files without options of their own; empty where the policy names none. */
  readonly processContext: string;
  readonly fileContext: string;
  /** The feature SELinuxMount: not only volumes that are one pod's alone are mounted with a context. */
  readonly mountsAllModes: boolean;
}

/** Why a volume has no one context in a pod. */
interface SeLinuxProblem {
  readonly kind: "container" | "pod_context_mismatch";
  readonly message: string;
}

interface LabelledVolume {
  readonly spec: VolumeSpec;
  readonly plugin: string;
  readonly outerVolumeSpecNames: readonly string[];
  readonly supportsSeLinuxMount: boolean;
}

/** The contexts of a volume that pods want, whichever pod it is; empty = none. */
export interface VolumeLabels {
  /** With which it is mounted. */
  readonly seLinuxLabel: string;
  /** With which it would be mounted if its access modes allowed that. */
  readonly podSeLinuxLabel: string;
}

interface Counted {
  readonly metric: MetricName;
  readonly labels: Readonly<Record<string, string>>;
}

export interface LabelDecision {
  /** An error is why the pod cannot have the volume now. */
  readonly labels: Result<VolumeLabels, string>;
  readonly counted: readonly Counted[];
}

export interface LabelQuestion {
  readonly pod: Pod;
  readonly volume: LabelledVolume;
  /** Undefined = SELinux is not enabled. */
  readonly node: SeLinuxNode | undefined;
  /** Of the same volume as pods want it already. */
  readonly known: VolumeLabels | undefined;
  /** This pod is one of them. */
  readonly isWanted: boolean;
  /** With which an agent before this one mounted it for containers that still run. */
  readonly inUse: string | undefined;
}

/** The contexts of a volume that a pod wants: those of the first pod, and others must wait until it is unmounted. */
export function labelVolume({ node, ...question }: LabelQuestion): LabelDecision {
  const { pod, volume, known, isWanted, inUse } = question;
  if (node === undefined) {
    return decided(known ?? { seLinuxLabel: inUse ?? "", podSeLinuxLabel: "" });
  }
  const { spec, plugin, supportsSeLinuxMount } = volume;
  const access_mode = widestAccessMode(spec);
  const isMounted = isMountedWithLabel(spec, node);
  const outcome = isMounted ? "errors" : "warnings";
  const label = podVolumeLabel(pod, volume, node);
  const counted: Counted[] = [];
  if (!label.ok) {
    const { kind, message } = label.error;
    const metric = `volume_manager_selinux_${kind}_${outcome}_total` as const;
    counted.push({ metric, labels: { access_mode } });
    if (isMounted) return { labels: err(message), counted };
  }
  const podSeLinuxLabel = label.ok ? label.value : "";
  const driver = csiDriverName(spec);
  const volume_plugin = driver === undefined ? plugin : `${plugin}/${driver}`;
  const labels = { access_mode, volume_plugin };
  if (known === undefined) {
    if (podSeLinuxLabel !== "") {
      counted.push({ metric: "volume_manager_selinux_volumes_admitted_total", labels });
    }
    const seLinuxLabel = inUse ?? (isMounted ? podSeLinuxLabel : "");
    return decided({ seLinuxLabel, podSeLinuxLabel }, counted);
  }
  const isCompared = supportsSeLinuxMount && !isWanted && !isOfManyLabels(label);
  if (!isCompared || podSeLinuxLabel === known.podSeLinuxLabel) return decided(known, counted);
  counted.push({
    metric: `volume_manager_selinux_volume_context_mismatch_${outcome}_total`,
    labels,
  });
  if (!isMounted) return decided(known, counted);
  const name = volumeSpecName(spec);
  const message = `conflicting SELinux labels of volume ${name}: "${known.podSeLinuxLabel}" and "${podSeLinuxLabel}"`;
  return { labels: err(message), counted };
}

function decided(
  { seLinuxLabel, podSeLinuxLabel }: VolumeLabels,
  counted: readonly Counted[] = [],
): LabelDecision {
  return { labels: ok({ seLinuxLabel, podSeLinuxLabel }), counted };
}

function isOfManyLabels(label: ReturnType<typeof podVolumeLabel>): boolean {
  return !label.ok && label.error.kind === "pod_context_mismatch";
}

/** The context of the volume's files in the pod; empty when it does not matter, or the runtime is going to choose it. */
function podVolumeLabel(
  pod: Pod,
  volume: LabelledVolume,
  node: SeLinuxNode,
): Result<string, SeLinuxProblem> {
  const labels = new Set<string>();
  for (const options of seLinuxOptionsOf(pod, volume.outerVolumeSpecNames)) {
    const label = fileLabel(options, node);
    if (!label.ok) return err({ kind: "container", message: label.error });
    labels.add(label.value);
  }
  if (labels.size > 1) {
    const message = `multiple SELinux labels found: ${[...labels].join(",")}`;
    return err({ kind: "pod_context_mismatch", message });
  }
  const isRelabelled = pod.spec.securityContext?.seLinuxChangePolicy === "Recursive";
  if (isRelabelled || !volume.supportsSeLinuxMount) return ok("");
  return ok([...labels][0] ?? "");
}

/** Of the containers that mount the volume; what a container does not say is the pod's. */
function seLinuxOptionsOf(pod: Pod, names: readonly string[]): readonly SELinuxOptions[] {
  const common = pod.spec.securityContext?.seLinuxOptions;
  return podContainers(pod).flatMap(({ container: { securityContext, volumeMounts = [] } }) => {
    const options = securityContext?.seLinuxOptions ?? common;
    const mounts = volumeMounts.filter(({ name }) => names.includes(name));
    return options === undefined ? [] : mounts.map(() => options);
  });
}

/** Role and type are those of the node's files: what options say of them is the process's. */
function fileLabel(options: SELinuxOptions, node: SeLinuxNode): Result<string, string> {
  const { user = "", role = "", type = "", level = "" } = options;
  if (`${user}${role}${type}${level}` === "") return ok("");
  if (node.processContext === "" || node.fileContext === "") return ok(node.fileContext);
  const own = parseContext(node.processContext);
  const file = parseContext(node.fileContext);
  if (own === undefined || file === undefined) {
    const context = own === undefined ? node.processContext : node.fileContext;
    return err(`failed to construct SELinux label: the node's context ${context} is not valid`);
  }
  // The runtime gives each container categories of its own then, which only it knows.
  if (level === "" && own.level !== "") return ok("");
  const parts = [user === "" ? file.user : user, file.role, file.type];
  const range = level === "" ? file.level : level;
  return ok((range === "" ? parts : [...parts, range]).join(":"));
}

interface Context {
  readonly user: string;
  readonly role: string;
  readonly type: string;
  readonly level: string;
}

/** The level has colons of its own. */
function parseContext(text: string): Context | undefined {
  const [user = "", role = "", type, ...level] = text.split(":");
  return type === undefined ? undefined : { user, role, type, level: level.join(":") };
}

/** Whether the volume is mounted with its context; one for several pods only with the feature SELinuxMount. */
function isMountedWithLabel(spec: VolumeSpec, { mountsAllModes }: SeLinuxNode): boolean {
  if (spec.source === "inline") return false;
  const modes = spec.persistentVolume.spec?.accessModes ?? [];
  return mountsAllModes || (modes.length === 1 && modes[0] === "ReadWriteOncePod");
}

const modeNames = [
  ["ReadWriteMany", "RWX"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteOnce", "RWO"],
  ["ReadWriteOncePod", "RWOP"],
] as const;

/** The widest access mode of the volume, as metrics name it. */
function widestAccessMode(spec: VolumeSpec): string {
  if (spec.source === "inline") return "inline";
  const modes = spec.persistentVolume.spec?.accessModes ?? [];
  return modeNames.find(([mode]) => modes.includes(mode))?.[1] ?? "";
}
