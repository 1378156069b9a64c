// Annotations that once were, or still are, settings of a pod.
import { quoteText } from "../../lib/go-text.ts";
import { parseJson } from "../../lib/json-parser.ts";
import type { PodSpec, SeccompProfile, Toleration } from "../generated/kubernetes.ts";
import { decodeObject } from "../manifest/decode-object.ts";
import { containersWithPath } from "./containers-with-path.ts";
import { type FieldError, type FieldPath, forbidden, invalid } from "./field-error.ts";
import { sortedEntries } from "./labels.ts";
import { validateDescendingPath } from "./paths.ts";
import { validateTolerations } from "./tolerations.ts";

type Annotations = Readonly<Record<string, string>>;

const tolerationsKey = "scheduler.alpha.kubernetes.io/tolerations";
const deletionCostKey = "controller.kubernetes.io/pod-deletion-cost";
const seccompPodKey = "seccomp.security.alpha.kubernetes.io/pod";
const seccompContainerPrefix = "container.seccomp.security.alpha.kubernetes.io/";
const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";
const localhostPrefix = "localhost/";
const runtimeDefault = "runtime/default";
const dockerDefault = "docker/default";
const unconfined = "unconfined";

export function validatePodAnnotations(
  annotations: Annotations,
  spec: PodSpec,
  field: FieldPath,
): FieldError[] {
  const cost = annotations[deletionCostKey];
  return [
    ...validateTolerationsText(annotations[tolerationsKey], field),
    ...(cost === undefined || isInt32(cost)
      ? []
      : [invalid(`${field}[${deletionCostKey}]`, cost, "must be a 32bit integer")]),
    ...validateSeccompAnnotations(annotations, field),
    ...validateAppArmorAnnotations(annotations, spec, field),
  ];
}

function validateTolerationsText(text: string | undefined, field: FieldPath): FieldError[] {
  if (text === undefined || text === "") return [];
  const tolerations = parseTolerations(text);
  if (typeof tolerations === "string") return [invalid(field, tolerationsKey, tolerations)];
  return validateTolerations(tolerations, `${field}.${tolerationsKey}`);
}

function parseTolerations(text: string): readonly Toleration[] | string {
  const parsed = parseJson(text);
  if (!parsed.ok) return parsed.error.message;
  if (parsed.value.kind === "null") return [];
  if (parsed.value.kind !== "array") {
    return `json: cannot unmarshal ${parsed.value.kind} into Go value of type []core.Toleration`;
  }
  const decoded = parsed.value.items.map((item) => decodeObject("Toleration", item));
  const problem = decoded.find((one) => one.problem !== undefined)?.problem;
  return problem?.message ?? decoded.map(({ value }) => value as Toleration);
}

/** A decimal number without leading zeros or plus sign that fits 32 bits. */
function isInt32(text: string): boolean {
  if (!/^(?:-[0-9]+|0|[1-9][0-9]*)$/.test(text)) return false;
  const value = Number(text);
  return value >= -(2 ** 31) && value < 2 ** 31;
}

function validateSeccompAnnotations(annotations: Annotations, field: FieldPath): FieldError[] {
  const ofPod = annotations[seccompPodKey];
  return [
    ...(ofPod === undefined ? [] : validateSeccompName(ofPod, `${field}.${seccompPodKey}`)),
    ...sortedEntries(annotations)
      .filter(([name]) => name.startsWith(seccompContainerPrefix))
      .flatMap(([name, profile]) => validateSeccompName(profile, `${field}.${name}`)),
  ];
}

function validateSeccompName(profile: string, field: FieldPath): FieldError[] {
  if ([runtimeDefault, dockerDefault, unconfined].includes(profile)) return [];
  if (!profile.startsWith(localhostPrefix)) {
    return [invalid(field, profile, "must be a valid seccomp profile")];
  }
  return validateDescendingPath(profile.slice(localhostPrefix.length), field);
}

function validateAppArmorAnnotations(
  annotations: Annotations,
  spec: PodSpec,
  field: FieldPath,
): FieldError[] {
  const names = new Set(containersWithPath(spec, "").map(({ container }) => container.name));
  return sortedEntries(annotations)
    .filter(([name]) => name.startsWith(appArmorPrefix))
    .flatMap(([name, profile]) => {
      const container = name.slice(appArmorPrefix.length);
      const isKnown =
        ["", runtimeDefault, unconfined].includes(profile) || profile.startsWith(localhostPrefix);
      const detail = `invalid AppArmor profile name: ${quoteText(profile)}`;
      return [
        ...(names.has(container)
          ? []
          : [invalid(`${field}[${name}]`, container, "container not found")]),
        ...(isKnown ? [] : [invalid(`${field}[${name}]`, profile, detail)]),
      ];
    });
}

/** Where an annotation and a field both name a profile they must name the same. */
export function validateProfileAgreement(
  annotations: Annotations,
  spec: PodSpec,
  field: FieldPath,
): FieldError[] {
  const containers = containersWithPath(spec, field);
  return [
    ...seccompDisagreement(
      annotations[seccompPodKey],
      spec.securityContext?.seccompProfile,
      `${field}.securityContext.seccompProfile`,
    ),
    ...containers.flatMap(({ container, path }) =>
      seccompDisagreement(
        annotations[`${seccompContainerPrefix}${container.name}`],
        container.securityContext?.seccompProfile,
        `${path}.securityContext.seccompProfile`,
      ),
    ),
    ...(spec.os?.name === "windows"
      ? []
      : containers.flatMap(({ container, path }) =>
          disagreement(
            annotations[`${appArmorPrefix}${container.name}`],
            container.securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile,
            { field: `${path}.securityContext.appArmorProfile`, what: "apparmor" },
          ),
        )),
  ];
}

function seccompDisagreement(
  annotation: string | undefined,
  profile: SeccompProfile | undefined,
  field: FieldPath,
): FieldError[] {
  const same = annotation === dockerDefault ? runtimeDefault : annotation;
  return disagreement(same, profile, { field, what: "seccomp" });
}

function disagreement(
  annotation: string | undefined,
  profile: { readonly type: string; readonly localhostProfile?: string | undefined } | undefined,
  { field, what }: { readonly field: FieldPath; readonly what: string },
): FieldError[] {
  if (annotation === undefined || profile === undefined) return [];
  const wrongType = [forbidden(`${field}.type`, `${what} type in annotation and field must match`)];
  switch (profile.type) {
    case "Unconfined":
      return annotation === unconfined ? [] : wrongType;
    case "RuntimeDefault":
      return annotation === runtimeDefault ? [] : wrongType;
    case "Localhost":
      if (!annotation.startsWith(localhostPrefix)) return wrongType;
      if (annotation.slice(localhostPrefix.length) === profile.localhostProfile) return [];
      return [
        forbidden(
          `${field}.localhostProfile`,
          `${what} profile in annotation and field must match`,
        ),
      ];
    default:
      return [];
  }
}
