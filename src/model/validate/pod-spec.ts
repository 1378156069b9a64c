import type { ObjectMeta, PodSpec } from "../generated/kubernetes.ts";
import { configMirrorAnnotation } from "../pod-source.ts";
import { validateAffinity } from "./affinity.ts";
import { validateContainers } from "./containers.ts";
import { containersWithPath } from "./containers-with-path.ts";
import { validateDnsConfig, validateHostAliases, validateHostnameOverride } from "./dns.ts";
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  invalidForEach,
  notFound,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { validateLabels } from "./labels.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  qualifiedNameProblems,
  rangeProblems,
} from "./names.ts";
import { validatePodResources, validateResourceClaims } from "./pod-resources.ts";
import { validateHostNetworkPorts } from "./ports.ts";
import { validateResources } from "./resources.ts";
import { validatePodSecurityContext, validateUserNamespace } from "./security-context.ts";
import { validateTolerations } from "./tolerations.ts";
import { validateTopologySpread } from "./topology-spread.ts";
import { validateVolumes } from "./volumes.ts";
import { validateHostProcess, validateOsSettings } from "./windows.ts";

const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const preemptionPolicies = ["PreemptLowerPriority", "Never"];
const operatingSystems = ["linux", "windows"];
const maxInt32 = 2 ** 31 - 1;

/** Checks everything that a pod's spec says; the metadata gives the names of its claims. */
export function validatePodSpec(spec: PodSpec, meta: ObjectMeta, field: FieldPath): FieldError[] {
  const volumes = validateVolumes(spec.volumes, meta, `${field}.volumes`);
  const claimNames = new Set(
    (spec.resourceClaims ?? []).map(({ name }) => name).filter((name) => name !== ""),
  );
  const isMirror = meta.annotations?.[configMirrorAnnotation] !== undefined;
  return [
    ...volumes.errors,
    ...validateResourceClaims(spec.resourceClaims, isMirror, `${field}.resourceClaims`),
    ...validateContainers({ spec, volumes: volumes.valid, claimNames }, field),
    ...validatePodResources(spec, claimNames, `${field}.resources`),
    ...validateHostNetworkPorts(spec, field),
    ...oneOf(spec.restartPolicy, restartPolicies, `${field}.restartPolicy`),
    ...oneOf(spec.dnsPolicy, dnsPolicies, `${field}.dnsPolicy`),
    ...validateLabels(spec.nodeSelector, `${field}.nodeSelector`),
    ...validatePodSecurityContext(spec, `${field}.securityContext`),
    ...validateAffinity(spec.affinity, `${field}.affinity`),
    ...validateDnsConfig(spec, `${field}.dnsConfig`),
    ...validateGates(spec, field),
    ...validateTopologySpread(spec.topologySpreadConstraints, `${field}.topologySpreadConstraints`),
    ...validateHostProcess(spec, field),
    ...validateUserNamespace(spec, field),
    ...validateHostnameOverride(spec, field),
    ...validateNames(spec, field),
    ...validateOs(spec, field),
    ...validateSchedulingGroup(spec, `${field}.schedulingGroup.podGroupName`),
    ...validateFileVolumes(spec, field),
  ];
}

function oneOf(
  value: string | undefined,
  supported: readonly string[],
  field: FieldPath,
): FieldError[] {
  if (value === undefined || value === "") return [required(field)];
  return supported.includes(value) ? [] : [notSupported(field, word(value), supported)];
}

function validateGates(spec: PodSpec, field: FieldPath): FieldError[] {
  const seen = new Set<string>();
  return [
    ...(spec.readinessGates ?? []).flatMap(({ conditionType }, index) =>
      invalidForEach(
        `${field}.readinessGates[${index}].conditionType`,
        conditionType,
        qualifiedNameProblems(conditionType),
      ),
    ),
    ...(spec.schedulingGates ?? []).flatMap(({ name }, index) => {
      const at = `${field}.schedulingGates[${index}]`;
      const isTaken = seen.has(name);
      seen.add(name);
      return [
        ...invalidForEach(at, name, qualifiedNameProblems(name)),
        ...(isTaken ? [duplicate(at, name)] : []),
      ];
    }),
  ];
}

function validateNames(spec: PodSpec, field: FieldPath): FieldError[] {
  const { activeDeadlineSeconds: deadline, preemptionPolicy, overhead } = spec;
  return [
    ...validateName(spec.serviceAccountName, dnsSubdomainProblems, `${field}.serviceAccountName`),
    ...validateName(spec.nodeName, dnsSubdomainProblems, `${field}.nodeName`),
    ...(deadline === undefined
      ? []
      : invalidForEach(
          `${field}.activeDeadlineSeconds`,
          deadline,
          rangeProblems(deadline, 1, maxInt32),
        )),
    ...validateName(spec.hostname, dnsLabelProblems, `${field}.hostname`),
    ...validateName(spec.subdomain, dnsLabelProblems, `${field}.subdomain`),
    ...validateTolerations(spec.tolerations, `${field}.tolerations`),
    ...validateHostAliases(spec.hostAliases, `${field}.hostAliases`),
    ...validateName(spec.priorityClassName, dnsSubdomainProblems, `${field}.priorityClassName`),
    ...validateName(spec.runtimeClassName, dnsSubdomainProblems, `${field}.runtimeClassName`),
    ...(preemptionPolicy === undefined
      ? []
      : oneOf(preemptionPolicy, preemptionPolicies, `${field}.preemptionPolicy`)),
    ...(overhead === undefined
      ? []
      : validateResources({ limits: overhead }, "container", new Set(), `${field}.overhead`)),
  ];
}

function validateName(
  name: string | undefined,
  problemsOf: (name: string) => string[],
  field: FieldPath,
): FieldError[] {
  return name === undefined ? [] : invalidForEach(field, name, problemsOf(name));
}

function validateOs(spec: PodSpec, field: FieldPath): FieldError[] {
  if (spec.os === undefined) return [];
  const { name } = spec.os;
  if (name === "") return [required(`${field}.os.name`)];
  if (!operatingSystems.includes(name)) {
    return [notSupported(`${field}.os`, word(name), operatingSystems)];
  }
  return validateOsSettings(spec, field);
}

function validateSchedulingGroup(spec: PodSpec, field: FieldPath): FieldError[] {
  if (spec.schedulingGroup === undefined) return [];
  const name = spec.schedulingGroup.podGroupName;
  if (name === undefined) {
    return [invalid(field, { json: null }, "must specify one of: `podGroupName`")];
  }
  return invalidForEach(field, name, dnsSubdomainProblems(name));
}

/** Variables that come from a file need a volume that containers can write. */
function validateFileVolumes(spec: PodSpec, field: FieldPath): FieldError[] {
  const volumes = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]));
  return containersWithPath(spec, field).flatMap(({ container, path }) =>
    (container.env ?? []).flatMap(({ valueFrom }, index) => {
      const name = valueFrom?.fileKeyRef?.volumeName;
      if (name === undefined) return [];
      const at = `${path}.env[${index}].valueFrom.fileKeyRef.volumeName`;
      const volume = volumes.get(name);
      if (volume === undefined) return [notFound(at, name)];
      if (volume.emptyDir !== undefined) return [];
      return [invalid(at, name, "referenced volume must be of type emptyDir")];
    }),
  );
}
