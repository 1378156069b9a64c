import { ownValue } from "../../lib/own-value.ts";
import type { PodResourceClaim, PodSpec } from "../generated/kubernetes.ts";
import { compareQuantity, formatQuantity, mustParseQuantity } from "../quantity.ts";
import { containerLimits, containerRequests } from "./container-totals.ts";
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  required,
} from "./field-error.ts";
import { shownResourceClaim } from "./internal-json.ts";
import { sortedEntries } from "./labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "./names.ts";
import { isHugePages } from "./resource-names.ts";
import { validateResources } from "./resources.ts";

/** Checks what the pod as a whole asks for, also against what its containers ask for. */
export function validatePodResources(
  spec: PodSpec,
  claimNames: ReadonlySet<string>,
  field: FieldPath,
): FieldError[] {
  const { resources } = spec;
  if (resources === undefined) return [];
  if (spec.os?.name === "windows") return [forbidden(field, "may not be set for a windows pod")];
  return [
    ...(resources.claims === undefined
      ? []
      : [forbidden(`${field}.claims`, "claims may not be set for Resources at pod-level")]),
    ...validateResources(resources, "pod", claimNames, field),
    ...validateTotals(spec, "requests", field),
    ...validateTotals(spec, "limits", field),
    ...validateContainerLimits(spec, field),
  ];
}

/** The pod has at least what its containers have together; of limits only huge pages cannot be promised twice. */
function validateTotals(
  spec: PodSpec,
  kind: "requests" | "limits",
  field: FieldPath,
): FieldError[] {
  const totals = kind === "requests" ? containerRequests(spec) : containerLimits(spec);
  return [...totals]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, total]) => {
      const text = ownValue(spec.resources?.[kind], name);
      if (text === undefined || (kind === "limits" && !isHugePages(name))) return [];
      if (compareQuantity(total, mustParseQuantity(text)) <= 0) return [];
      const detail = `must be greater than or equal to aggregate container ${kind} of ${formatQuantity(total)}`;
      return [invalid(`${field}.${kind}[${name}]`, text, detail)];
    });
}

function validateContainerLimits(spec: PodSpec, field: FieldPath): FieldError[] {
  return spec.containers.flatMap((container, index) =>
    sortedEntries(container.resources?.limits).flatMap(([name, limit]) => {
      const ofPod = ownValue(spec.resources?.limits, name);
      if (ofPod === undefined) return [];
      if (compareQuantity(mustParseQuantity(limit), mustParseQuantity(ofPod)) <= 0) return [];
      const at = `${field}.containers[${index}][${name}].limits`;
      return [invalid(at, limit, `must be less than or equal to pod limits of ${ofPod}`)];
    }),
  );
}

/** Checks the resource claims of a pod. */
export function validateResourceClaims(
  claims: readonly PodResourceClaim[] | undefined,
  isMirror: boolean,
  field: FieldPath,
): FieldError[] {
  const names = new Set<string>();
  return (claims ?? []).flatMap((claim, index) => {
    if (isMirror) return [forbidden("", "static pods do not support resource claims")];
    const at = `${field}[${index}]`;
    const { name, resourceClaimName, resourceClaimTemplateName: template } = claim;
    const errors: FieldError[] = [];
    if (name === "") {
      errors.push(required(`${at}.name`));
    } else if (names.has(name)) {
      errors.push(duplicate(`${at}.name`, name));
    } else {
      errors.push(...invalidForEach(`${at}.name`, name, dnsLabelProblems(name)));
      names.add(name);
    }
    return [
      ...errors,
      ...validateClaimChoice(claim, at),
      ...validateClaimName(resourceClaimName, `${at}.resourceClaimName`),
      ...validateClaimName(template, `${at}.resourceClaimTemplateName`),
    ];
  });
}

function validateClaimChoice(claim: PodResourceClaim, field: FieldPath): FieldError[] {
  const { resourceClaimName, resourceClaimTemplateName } = claim;
  const hasName = resourceClaimName !== undefined;
  const hasTemplate = resourceClaimTemplateName !== undefined;
  if (hasName !== hasTemplate) return [];
  const detail = hasName
    ? "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
    : "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
  return [invalid(field, shownResourceClaim(claim), detail)];
}

function validateClaimName(name: string | undefined, field: FieldPath): FieldError[] {
  return name === undefined ? [] : invalidForEach(field, name, dnsSubdomainProblems(name));
}
