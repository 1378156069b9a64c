import { utf8Length } from "../../lib/utf8.ts";
import type { PodSpec, SecurityContext, Sysctl } from "../generated/kubernetes.ts";
import { dottedSysctl } from "../sysctl-name.ts";
import { containersWithPath } from "./containers-with-path.ts";
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { shownSecurityContext } from "./internal-json.ts";
import { idProblems } from "./names.ts";
import { validateAppArmorProfile, validateSeccompProfile } from "./security-profiles.ts";
import { validateWindowsOptions } from "./windows.ts";

const procMounts = ["Default", "Unmasked"];
const maxSysctlBytes = 253;
const sysctlSegment = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const sysctlFormat = `^(${sysctlSegment}[\\./])*${sysctlSegment}$`;
const sysctlRegExp = new RegExp(sysctlFormat);
const ipcSysctls: ReadonlySet<string> = new Set(
  "sem shmall shmmax shmmni shm_rmid_forced shm msgmax msgmnb msgmni msg"
    .split(" ")
    .map((name) => `kernel.${name}`),
);

/** Checks the security context of one container; `hostUsers` is false where the pod has its own user namespace. */
export function validateSecurityContext(
  context: SecurityContext | undefined,
  hostUsers: boolean,
  field: FieldPath,
): FieldError[] {
  if (context === undefined) return [];
  return [
    ...validateId(context.runAsUser, `${field}.runAsUser`),
    ...validateId(context.runAsGroup, `${field}.runAsGroup`),
    ...validateProcMount(context.procMount, hostUsers, `${field}.procMount`),
    ...validateSeccompProfile(context.seccompProfile, `${field}.seccompProfile`),
    ...validateEscalation(context, field),
    ...validateWindowsOptions(context.windowsOptions, `${field}.windowsOptions`),
    ...validateAppArmorProfile(context.appArmorProfile, `${field}.appArmorProfile`),
  ];
}

function validateId(id: number | undefined, field: FieldPath): FieldError[] {
  return id === undefined ? [] : invalidForEach(field, id, idProblems(id));
}

function validateProcMount(
  type: string | undefined,
  hostUsers: boolean,
  field: FieldPath,
): FieldError[] {
  if (type === undefined) return [];
  if (!procMounts.includes(type)) return [notSupported(field, word(type), procMounts)];
  if (!hostUsers || type !== "Unmasked") return [];
  return [invalid(field, word(type), "`hostUsers` must be false to use `Unmasked`")];
}

function validateEscalation(context: SecurityContext, field: FieldPath): FieldError[] {
  if (context.allowPrivilegeEscalation !== false) return [];
  const refuse = (what: string) =>
    invalid(
      field,
      shownSecurityContext(context),
      `cannot set \`allowPrivilegeEscalation\` to false and ${what}`,
    );
  return [
    ...(context.privileged === true ? [refuse("`privileged` to true")] : []),
    ...(context.capabilities?.add ?? [])
      .filter((capability) => capability === "CAP_SYS_ADMIN")
      .map(() => refuse("`capabilities.Add` CAP_SYS_ADMIN")),
  ];
}

/** Checks the security context of the pod as a whole. */
export function validatePodSecurityContext(spec: PodSpec, field: FieldPath): FieldError[] {
  const context = spec.securityContext ?? {};
  const isSharedTwice = spec.shareProcessNamespace === true && spec.hostPID === true;
  return [
    ...validateId(context.fsGroup, `${field}.fsGroup`),
    ...validateId(context.runAsUser, `${field}.runAsUser`),
    ...validateId(context.runAsGroup, `${field}.runAsGroup`),
    ...(context.supplementalGroups ?? []).flatMap((group, index) =>
      validateId(group, `${field}.supplementalGroups[${index}]`),
    ),
    ...(isSharedTwice
      ? [
          invalid(
            `${field}.shareProcessNamespace`,
            true,
            "ShareProcessNamespace and HostPID cannot both be enabled",
          ),
        ]
      : []),
    ...validateSysctls(context.sysctls ?? [], spec, `${field}.sysctls`),
    ...oneOf(
      context.fsGroupChangePolicy,
      ["Always", "OnRootMismatch"],
      `${field}.fsGroupChangePolicy`,
    ),
    ...validateSeccompProfile(context.seccompProfile, `${field}.seccompProfile`),
    ...validateWindowsOptions(context.windowsOptions, `${field}.windowsOptions`),
    ...validateAppArmorProfile(context.appArmorProfile, `${field}.appArmorProfile`),
    ...oneOf(
      context.supplementalGroupsPolicy,
      ["Merge", "Strict"],
      `${field}.supplementalGroupsPolicy`,
    ),
    ...oneOf(context.seLinuxChangePolicy, ["Recursive"], `${field}.seLinuxChangePolicy`),
  ];
}

function oneOf(
  value: string | undefined,
  supported: readonly string[],
  field: FieldPath,
): FieldError[] {
  if (value === undefined || supported.includes(value)) return [];
  return [notSupported(field, word(value), supported)];
}

function validateSysctls(
  sysctls: readonly Sysctl[],
  spec: PodSpec,
  field: FieldPath,
): FieldError[] {
  const seen = new Set<string>();
  return sysctls.flatMap(({ name }, index) => {
    const at = `${field}[${index}].name`;
    const errors: FieldError[] = [];
    if (name === "") {
      errors.push(required(at));
    } else if (utf8Length(name) > maxSysctlBytes || !sysctlRegExp.test(name)) {
      const detail = `must have at most ${maxSysctlBytes} characters and match regex ${sysctlFormat}`;
      errors.push(invalid(at, name, detail));
    } else if (seen.has(name)) {
      errors.push(duplicate(at, name));
    }
    seen.add(name);
    return [...errors, ...validateSysctlNamespace(name, spec, at)];
  });
}

/** A pod cannot set what it shares with the host. */
function validateSysctlNamespace(name: string, spec: PodSpec, field: FieldPath): FieldError[] {
  const [dotted = ""] = dottedSysctl(name).split("*");
  if (spec.hostNetwork === true && dotted.startsWith("net.")) {
    return [invalid(field, name, "may not be specified when 'hostNetwork' is true")];
  }
  const isIpc = ipcSysctls.has(dotted) || dotted.startsWith("fs.mqueue.");
  if (spec.hostIPC === true && isIpc) {
    return [invalid(field, name, "may not be specified when 'hostIPC' is true")];
  }
  return [];
}

/** A pod with its own user namespace shares no other namespace with the host. */
export function validateUserNamespace(spec: PodSpec, field: FieldPath): FieldError[] {
  if (spec.hostUsers !== false) return [];
  const detail = "when `hostUsers` is false";
  return [
    ...(spec.hostNetwork === true ? [forbidden(`${field}.hostNetwork`, detail)] : []),
    ...(spec.hostPID === true ? [forbidden(`${field}.HostPID`, detail)] : []),
    ...(spec.hostIPC === true ? [forbidden(`${field}.HostIPC`, detail)] : []),
    ...containersWithPath(spec, field).flatMap(({ container, path }) =>
      (container.volumeDevices ?? []).length > 0
        ? [forbidden(`${path}.volumeDevices`, detail)]
        : [],
    ),
  ];
}
