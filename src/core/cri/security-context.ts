import { quoteText } from "../../lib/go-text.ts";
import { ok, type Result } from "../../lib/result.ts";
import type {
  Capability,
  Int64Value,
  LinuxContainerSecurityContext,
  SELinuxOption,
} from "../../model/generated/cri.ts";
import type { Capabilities, SecurityContext } from "../../model/generated/kubernetes.ts";
import { type AnyContainer, type Pod, podDisplayName } from "../../model/pod.ts";
import type { ContainerInputs } from "./container-inputs.ts";
import type { ImageUser } from "./image-user.ts";
import { podNamespaces } from "./namespaces.ts";
import type { RuntimeSettings } from "./runtime-settings.ts";
import { appArmorProfile, seccompProfile } from "./security-profiles.ts";
import { supplementalGroupsPolicy } from "./supplemental-groups.ts";

const greatestUserId = 2_147_483_647n;

const maskedPaths: readonly string[] = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
];
const readonlyPaths: readonly string[] = [
  "/proc/bus",
  "/proc/fs",
  "/proc/irq",
  "/proc/sys",
  "/proc/sysrq-trigger",
];

/** What holds for a container: its own settings, and the pod's where it has none. */
function effectiveSecurityContext(pod: Pod, container: AnyContainer): SecurityContext {
  const own = container.securityContext ?? {};
  const common = pod.spec.securityContext ?? {};
  return {
    ...own,
    seLinuxOptions: own.seLinuxOptions ?? common.seLinuxOptions,
    runAsUser: own.runAsUser ?? common.runAsUser,
    runAsGroup: own.runAsGroup ?? common.runAsGroup,
    runAsNonRoot: own.runAsNonRoot ?? common.runAsNonRoot,
  };
}

/** Why a container that must not run as root would, or might; undefined when all is well. */
export function nonRootViolation(
  pod: Pod,
  container: AnyContainer,
  { uid, username }: ImageUser,
): string | undefined {
  const { runAsNonRoot, runAsUser } = effectiveSecurityContext(pod, container);
  if (runAsNonRoot !== true) return undefined;
  const where = `(pod: ${quoteText(podDisplayName(pod))}, container: ${container.name})`;
  if (runAsUser !== undefined) {
    return runAsUser === 0 ? `container's runAsUser breaks non-root policy ${where}` : undefined;
  }
  if (uid === undefined) {
    if (username === "") return undefined;
    return `container has runAsNonRoot and image has non-numeric user (${username}), cannot verify user is non-root ${where}`;
  }
  if (uid === 0n) return `container has runAsNonRoot and image will run as root ${where}`;
  if (uid > 0n && uid <= greatestUserId) return undefined;
  return `container has runAsNonRoot and image has an invalid user id (${uid}). (Must be 1-(${greatestUserId})): must be between 0 and ${greatestUserId}, inclusive ${where}`;
}

/** Why the image's user cannot be used: runtimes have cut greater numbers down to those of other users, root's too. */
export function imageUserProblem(
  pod: Pod,
  container: AnyContainer,
  { uid }: ImageUser,
): string | undefined {
  if (effectiveSecurityContext(pod, container).runAsUser !== undefined) return undefined;
  if (uid === undefined || (uid >= 0n && uid <= greatestUserId)) return undefined;
  return `image has an invalid user id (${uid}): must be between 0 and ${greatestUserId}, inclusive`;
}

/** Users, groups, capabilities, profiles and namespaces of a container. */
export function containerSecurityContext(
  inputs: ContainerInputs,
  settings: RuntimeSettings,
): Result<LinuxContainerSecurityContext, string> {
  const { pod, container } = inputs;
  const effective = effectiveSecurityContext(pod, container);
  const seccomp = seccompProfile(pod, container, settings);
  if (!seccomp.ok) return seccomp;
  const appArmor = appArmorProfile(pod, container);
  if (!appArmor.ok) return appArmor;
  const policy = supplementalGroupsPolicy(pod);
  if (!policy.ok) return policy;
  const unmasked = effective.procMount === "Unmasked";
  return ok({
    capabilities: capability(effective.capabilities),
    privileged: effective.privileged,
    namespaceOptions: podNamespaces(pod, inputs.userNamespace),
    selinuxOptions: selinuxOption(effective),
    ...user(effective, inputs.imageUser),
    runAsGroup: int64Value(effective.runAsGroup),
    readonlyRootfs: effective.readOnlyRootFilesystem,
    supplementalGroups: [...podGroups(pod), ...(inputs.extraGroups ?? []).map(BigInt)],
    supplementalGroupsPolicy: policy.value,
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : [...maskedPaths, ...settings.extraMaskedPaths],
    readonlyPaths: unmasked ? [] : readonlyPaths,
    seccomp: seccomp.value,
    ...appArmor.value,
  });
}

export function selinuxOption({
  seLinuxOptions,
}: Pick<SecurityContext, "seLinuxOptions">): SELinuxOption | undefined {
  if (seLinuxOptions === undefined) return undefined;
  const { user: seUser, role, type, level } = seLinuxOptions;
  return { user: seUser, role, type, level };
}

export function int64Value(value: number | undefined): Int64Value | undefined {
  return value === undefined ? undefined : { value: BigInt(value) };
}

function user(
  { runAsUser }: SecurityContext,
  image: ImageUser,
): Pick<LinuxContainerSecurityContext, "runAsUser" | "runAsUsername"> {
  if (runAsUser !== undefined) return { runAsUser: int64Value(runAsUser) };
  return {
    runAsUser: image.uid === undefined ? undefined : { value: image.uid },
    runAsUsername: image.username,
  };
}

function podGroups({ spec }: Pod): bigint[] {
  const { fsGroup, supplementalGroups = [] } = spec.securityContext ?? {};
  return [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups].map(BigInt);
}

function capability(capabilities: Capabilities | undefined): Capability | undefined {
  if (capabilities === undefined) return undefined;
  return { addCapabilities: capabilities.add ?? [], dropCapabilities: capabilities.drop ?? [] };
}
