import { ok, type Result } from "../../lib/result.ts";
import type {
  DNSConfig,
  LinuxPodSandboxConfig,
  LinuxSandboxSecurityContext,
  PodSandboxConfig,
  UserNamespace,
} from "../../model/generated/cri.ts";
import { SecurityProfile_ProfileType } from "../../model/generated/cri.ts";
import { type Pod, podContainers } from "../../model/pod.ts";
import { podLogsDirectory } from "../paths/log-paths.ts";
import { podIdentityLabels } from "./container-annotations.ts";
import { overheadResources, sandboxResources } from "./linux-resources.ts";
import { podNamespaces } from "./namespaces.ts";
import { podPortMappings } from "./port-mappings.ts";
import type { RuntimeSettings } from "./runtime-settings.ts";
import { int64Value, selinuxOption } from "./security-context.ts";
import { supplementalGroupsPolicy } from "./supplemental-groups.ts";

/** What a pod's sandbox is made from, beyond its spec. */
export interface SandboxInputs {
  readonly pod: Pod;
  readonly attempt: number;
  readonly dns: DNSConfig | undefined;
  /** The name as the kernel gets it; not used where the pod shares the node's network. */
  readonly hostname: string;
  readonly cgroupParent: string;
  readonly userNamespace?: UserNamespace | undefined;
  /** Groups that the pod's volumes belong to. */
  readonly extraGroups?: readonly number[] | undefined;
  readonly hasExclusiveCpus?: boolean | undefined;
}

/** The runtime's config of a pod's sandbox. */
export function sandboxConfig(
  inputs: SandboxInputs,
  settings: RuntimeSettings,
): Result<PodSandboxConfig, string> {
  const { pod, attempt } = inputs;
  const { name, namespace, uid } = pod.metadata;
  const securityContext = sandboxSecurityContext(inputs);
  if (!securityContext.ok) return securityContext;
  const linux: LinuxPodSandboxConfig = {
    cgroupParent: inputs.cgroupParent,
    securityContext: securityContext.value,
    sysctls: Object.fromEntries(
      (pod.spec.securityContext?.sysctls ?? []).map((sysctl) => [sysctl.name, sysctl.value]),
    ),
    resources: sandboxResources(pod, inputs.hasExclusiveCpus === true, settings),
    overhead: overheadResources(pod, settings),
  };
  return ok({
    metadata: { name, namespace, uid, attempt },
    hostname: pod.spec.hostNetwork === true ? "" : inputs.hostname,
    logDirectory: podLogsDirectory(settings.podLogsRoot, pod.metadata),
    dnsConfig: inputs.dns,
    portMappings: podPortMappings(pod),
    labels: { ...pod.metadata.labels, ...podIdentityLabels(pod) },
    annotations: pod.metadata.annotations ?? {},
    linux,
  });
}

function sandboxSecurityContext({
  pod,
  userNamespace,
  extraGroups = [],
}: SandboxInputs): Result<LinuxSandboxSecurityContext, string> {
  const always: LinuxSandboxSecurityContext = {
    privileged: podContainers(pod).some(
      ({ container }) => container.securityContext?.privileged === true,
    ),
    // The sandbox's own process needs no more than the runtime's default, whatever the containers may do.
    seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault },
  };
  const { securityContext } = pod.spec;
  if (securityContext === undefined) return ok(always);
  const policy = supplementalGroupsPolicy(pod);
  if (!policy.ok) return policy;
  const { fsGroup, supplementalGroups = [] } = securityContext;
  const groups = [
    ...(fsGroup === undefined ? [] : [fsGroup]),
    ...extraGroups,
    ...supplementalGroups,
  ];
  return ok({
    ...always,
    namespaceOptions: podNamespaces(pod, userNamespace),
    selinuxOptions: selinuxOption(securityContext),
    runAsUser: int64Value(securityContext.runAsUser),
    runAsGroup: int64Value(securityContext.runAsGroup),
    supplementalGroups: groups.map(BigInt),
    supplementalGroupsPolicy: policy.value,
  });
}
