import { utf8Length } from "../../lib/utf8.ts";
import type { PodSpec, WindowsSecurityContextOptions } from "../generated/kubernetes.ts";
import { containersWithPath } from "./containers-with-path.ts";
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  word,
} from "./field-error.ts";
import { dnsSubdomainProblems } from "./names.ts";

const maxCredentialSpecKiB = 64;
const maxDomainLength = 256;
const maxUserLength = 104;
const netBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsLabel = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
const dnsDomain = new RegExp(`^${dnsLabel}(?:\\.${dnsLabel})*$`);
const linuxOnlyPodFields = [
  "appArmorProfile",
  "seLinuxOptions",
  "hostUsers",
  "hostPID",
  "hostIPC",
  "seccompProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  "shareProcessNamespace",
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
] as const;
const linuxOnlyContainerFields = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
] as const;

export function validateWindowsOptions(
  options: WindowsSecurityContextOptions | undefined,
  field: FieldPath,
): FieldError[] {
  if (options === undefined) return [];
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: spec, runAsUserName: user } = options;
  return [
    ...(name === undefined
      ? []
      : invalidForEach(`${field}.gmsaCredentialSpecName`, word(name), dnsSubdomainProblems(name))),
    ...(spec === undefined
      ? []
      : invalidForEach(`${field}.gmsaCredentialSpec`, word(spec), credentialSpecProblems(spec))),
    ...(user === undefined
      ? []
      : invalidForEach(`${field}.runAsUserName`, word(user), userNameProblems(user))),
  ];
}

function credentialSpecProblems(spec: string): string[] {
  if (spec === "") return ["gmsaCredentialSpec cannot be an empty string"];
  if (utf8Length(spec) <= maxCredentialSpecKiB * 1024) return [];
  return [`gmsaCredentialSpec size must be under ${maxCredentialSpecKiB} KiB`];
}

function userNameProblems(name: string): string[] {
  if (name === "") return ["runAsUserName cannot be an empty string"];
  if (hasControlCharacter(name)) return ["runAsUserName cannot contain control characters"];
  const parts = name.split("\\");
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"];
  const domain = parts.length === 2 ? (parts[0] ?? "") : undefined;
  const user = parts.at(-1) ?? "";
  return [...(domain === undefined ? [] : domainProblems(domain)), ...userProblems(user)];
}

function hasControlCharacter(text: string): boolean {
  return Array.from(text).some((character) => character < " " || character === "\u007f");
}

function domainProblems(domain: string): string[] {
  return [
    ...(utf8Length(domain) >= maxDomainLength
      ? [`runAsUserName's Domain length must be under ${maxDomainLength} characters`]
      : []),
    ...(netBios.test(domain) || dnsDomain.test(domain)
      ? []
      : ["runAsUserName's Domain doesn't match the NetBios nor the DNS format"]),
  ];
}

function userProblems(user: string): string[] {
  const problems: string[] = [];
  if (user === "") {
    problems.push("runAsUserName's User cannot be empty");
  } else if (utf8Length(user) > maxUserLength) {
    problems.push(
      `runAsUserName's User length must not be longer than ${maxUserLength} characters`,
    );
  }
  if (/^[. ]+$/.test(user)) {
    problems.push("runAsUserName's User cannot contain only periods or spaces");
  }
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    problems.push(
      `runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`,
    );
  }
  return problems;
}

/** Containers that are processes of a Windows host come all together, and on the host's network. */
export function validateHostProcess(spec: PodSpec, field: FieldPath): FieldError[] {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  const containers = containersWithPath(spec, field);
  const errors: FieldError[] = [];
  let count = 0;
  for (const { container, path } of containers) {
    const own = container.securityContext?.windowsOptions?.hostProcess;
    if (ofPod !== undefined && own !== undefined && ofPod !== own) {
      const at = `${path}.securityContext.windowsOptions.hostProcess`;
      const detail = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      errors.push(invalid(at, own, detail));
    }
    if (own ?? ofPod ?? false) count++;
  }
  if (count === 0) return errors;
  if (count !== containers.length) {
    const detail =
      "If pod contains any hostProcess containers then all containers must be HostProcess containers";
    errors.push(invalid(field, "", detail));
  }
  if (spec.hostNetwork !== true) {
    const detail = "hostNetwork must be true if pod contains any hostProcess containers";
    errors.push(invalid(`${field}.hostNetwork`, false, detail));
  }
  return errors;
}

/** Checks that the settings are those of the pod's operating system. */
export function validateOsSettings(spec: PodSpec, field: FieldPath): FieldError[] {
  if (spec.os?.name === "linux") return validateLinuxPod(spec, field);
  return spec.os?.name === "windows" ? validateWindowsPod(spec, field) : [];
}

function validateLinuxPod(spec: PodSpec, field: FieldPath): FieldError[] {
  const detail = "windows options cannot be set for a linux pod";
  return [
    { path: field, context: spec.securityContext },
    ...containersWithPath(spec, field).map(({ container, path }) => ({
      path,
      context: container.securityContext,
    })),
  ].flatMap(({ path, context }) =>
    context?.windowsOptions === undefined
      ? []
      : [forbidden(`${path}.securityContext.windowsOptions`, detail)],
  );
}

function validateWindowsPod(spec: PodSpec, field: FieldPath): FieldError[] {
  const detail = "cannot be set for a windows pod";
  const ofSpec = { hostUsers: spec.hostUsers, shareProcessNamespace: spec.shareProcessNamespace };
  const flags = {
    hostPID: spec.hostPID === true || undefined,
    hostIPC: spec.hostIPC === true || undefined,
  };
  const atSpec: Readonly<Record<string, unknown>> = { ...ofSpec, ...flags };
  const sysctls = (spec.securityContext?.sysctls ?? []).length > 0 || undefined;
  const inContext: Readonly<Record<string, unknown>> = { ...spec.securityContext, sysctls };
  return [
    ...linuxOnlyPodFields.flatMap((name) => {
      if (name in atSpec) {
        return atSpec[name] === undefined ? [] : [forbidden(`${field}.${name}`, detail)];
      }
      return inContext[name] === undefined
        ? []
        : [forbidden(`${field}.securityContext.${name}`, detail)];
    }),
    ...containersWithPath(spec, field).flatMap(({ container, path }) =>
      linuxOnlyContainerFields.flatMap((name) =>
        container.securityContext?.[name] === undefined
          ? []
          : [forbidden(`${path}.securityContext.${name}`, detail)],
      ),
    ),
  ];
}
