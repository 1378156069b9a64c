import { ownValue } from "../../lib/own-value.ts";
import type { ResourceClaim, ResourceRequirements } from "../generated/kubernetes.ts";
import {
  compareQuantity,
  formatQuantity,
  mustParseQuantity,
  parseQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
  zeroQuantity,
} from "../quantity.ts";
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  notFound,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { sortedEntries } from "./labels.ts";
import { dnsLabelProblems, qualifiedNameProblems } from "./names.ts";
import {
  hugePageSize,
  isContainerResource,
  isExtendedResource,
  isHugePages,
  isIntegerResource,
  isNativeResource,
  isOvercommitAllowed,
  isPodLevelResource,
  isStandardResource,
} from "./resource-names.ts";

export type ResourceOwner = "container" | "pod";

/** Checks names and amounts, that requests fit limits, and that claims are claims of the pod. */
export function validateResources(
  resources: ResourceRequirements | undefined,
  owner: ResourceOwner,
  claimNames: ReadonlySet<string>,
  field: FieldPath,
): FieldError[] {
  const limits = amountsOf(resources?.limits);
  const requests = amountsOf(resources?.requests);
  const errors = [
    ...limits.flatMap(([name, amount]) =>
      validateAmount(name, amount, owner, `${field}.limits[${name}]`),
    ),
    ...requests.flatMap(([name, amount]) => {
      const at = `${field}.requests[${name}]`;
      const limit = ownValue(resources?.limits, name);
      return [
        ...validateNameAndValue(name, amount, owner, at),
        ...validateAgainstLimit(name, amount, limit, field),
        ...validatePages(name, amount, at),
      ];
    }),
  ];
  const names = [...limits, ...requests].map(([name]) => name);
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory")) {
    errors.push(forbidden(field, "HugePages require cpu or memory"));
  }
  return [...errors, ...validateClaims(resources?.claims ?? [], claimNames, `${field}.claims`)];
}

/** A quantity that is not negative, and whole where the resource is counted. */
function validateQuantity(name: string, amount: Quantity, field: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const text = formatQuantity(amount);
  if (compareQuantity(amount, zeroQuantity) < 0) {
    errors.push(invalid(field, text, "must be greater than or equal to 0"));
  }
  if (isIntegerResource(name) && quantityMilliValue(amount) % 1000n !== 0n) {
    errors.push(invalid(field, word(text), "must be an integer"));
  }
  return errors;
}

function amountsOf(list: Readonly<Record<string, string>> | undefined): [string, Quantity][] {
  return sortedEntries(list).map(([name, text]) => [name, mustParseQuantity(text)]);
}

function validateAmount(
  name: string,
  amount: Quantity,
  owner: ResourceOwner,
  field: FieldPath,
): FieldError[] {
  return [
    ...validateNameAndValue(name, amount, owner, field),
    ...validatePages(name, amount, field),
  ];
}

function validateNameAndValue(
  name: string,
  amount: Quantity,
  owner: ResourceOwner,
  field: FieldPath,
): FieldError[] {
  return [
    ...(owner === "pod" ? validatePodName(name, field) : validateContainerName(name, field)),
    ...validateQuantity(name, amount, field),
  ];
}

function validateAgainstLimit(
  name: string,
  request: Quantity,
  limitText: string | undefined,
  field: FieldPath,
): FieldError[] {
  if (limitText === undefined) {
    return isOvercommitAllowed(name)
      ? []
      : [required(`${field}.limits`, "Limit must be set for non overcommitable resources")];
  }
  const order = compareQuantity(request, mustParseQuantity(limitText));
  const text = formatQuantity(request);
  if (order !== 0 && !isOvercommitAllowed(name)) {
    return [invalid(`${field}.requests`, text, `must be equal to ${name} limit of ${limitText}`)];
  }
  if (order <= 0) return [];
  const detail = `must be less than or equal to ${name} limit of ${limitText}`;
  return [invalid(`${field}.requests`, text, detail)];
}

function validatePages(name: string, amount: Quantity, field: FieldPath): FieldError[] {
  if (!isHugePages(name) || isWholePages(name, amount)) return [];
  const text = formatQuantity(amount);
  return [invalid(field, text, `${text} is not positive integer multiple of ${name}`)];
}

function isWholePages(name: string, amount: Quantity): boolean {
  const size = parseQuantity(hugePageSize(name));
  if (!size.ok || compareQuantity(size.value, zeroQuantity) <= 0) return false;
  if (quantityMilliValue(size.value) % 1000n !== 0n) return false;
  return quantityValue(amount) % quantityValue(size.value) === 0n;
}

function validateResourceName(name: string, field: FieldPath): FieldError[] {
  const errors = invalidForEach(field, word(name), qualifiedNameProblems(name));
  if (errors.length > 0 || name.includes("/") || isStandardResource(name)) return errors;
  return [invalid(field, word(name), "must be a standard resource type or fully qualified")];
}

function validateContainerName(name: string, field: FieldPath): FieldError[] {
  const errors = validateResourceName(name, field);
  if (!name.includes("/")) {
    return isContainerResource(name)
      ? errors
      : [...errors, invalid(field, word(name), "must be a standard resource for containers")];
  }
  if (isNativeResource(name) || isExtendedResource(name)) return errors;
  return [...errors, invalid(field, word(name), "doesn't follow extended resource name standard")];
}

function validatePodName(name: string, field: FieldPath): FieldError[] {
  const errors = validateResourceName(name, field);
  if (errors.length > 0 || isPodLevelResource(name)) return errors;
  return [notSupported(field, word(name), ["cpu", "hugepages-", "memory"])];
}

function validateClaims(
  claims: readonly ResourceClaim[],
  podClaims: ReadonlySet<string>,
  field: FieldPath,
): FieldError[] {
  const seen = new Set<string>();
  return claims.flatMap(({ name, request = "" }, index) => {
    const at = `${field}[${index}]`;
    if (name === "") return [required(at)];
    const errors = validateClaimUse(name, request, seen, at);
    if (podClaims.has(name)) return errors;
    const known =
      podClaims.size === 0 ? " which is empty" : `: ${[...podClaims].toSorted().join(", ")}`;
    const detail = `must be one of the names in pod.spec.resourceClaims${known}`;
    return [...errors, notFound(at, name, detail)];
  });
}

/** A claim is used as a whole or by requests, and each only once. */
function validateClaimUse(
  name: string,
  request: string,
  seen: Set<string>,
  field: FieldPath,
): FieldError[] {
  if (seen.has(name)) return [duplicate(field, name)];
  const errors =
    request === "" ? [] : invalidForEach(`${field}.request`, request, dnsLabelProblems(request));
  const key = request === "" ? name : `${name}/${request}`;
  if (seen.has(key)) {
    errors.push(duplicate(field, key));
  } else if (request === "") {
    const parts = [...seen].filter((other) => other.startsWith(`${name}/`));
    errors.push(...parts.map(() => duplicate(field, name)));
  }
  seen.add(key);
  return errors;
}
