// References from a pod to its own fields and resources: the downward API.
import { splitSubscript } from "../field-subscript.ts";
import type { ObjectFieldSelector, ResourceFieldSelector } from "../generated/kubernetes.ts";
import { podFieldLabels } from "../pod-field-labels.ts";
import { formatQuantity, isZeroQuantity, mustParseQuantity } from "../quantity.ts";
import {
  type FieldError,
  type FieldPath,
  invalid,
  invalidForEach,
  notSupported,
  required,
} from "./field-error.ts";
import { qualifiedNameProblems } from "./names.ts";

const resourceFields = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];

const hugePagesField = /^(?:requests|limits)\.hugepages-/;
const cpuDivisors: ReadonlySet<string> = new Set(["1m", "1"]);
const byteDivisorNames = [
  "1",
  "1k",
  "1M",
  "1G",
  "1T",
  "1P",
  "1E",
  "1Ki",
  "1Mi",
  "1Gi",
  "1Ti",
  "1Pi",
  "1Ei",
];
const byteDivisors: ReadonlySet<string> = new Set(byteDivisorNames);

/** Checks a reference to a field of the pod; `supported` are the paths that can be named without a subscript. */
export function validateFieldSelector(
  selector: ObjectFieldSelector,
  supported: readonly string[],
  field: FieldPath,
): FieldError[] {
  const { fieldPath, apiVersion = "" } = selector;
  if (apiVersion === "") return [required(`${field}.apiVersion`)];
  if (fieldPath === "") return [required(`${field}.fieldPath`)];
  const subscripted = splitSubscript(fieldPath);
  const refused = conversionProblem(apiVersion, fieldPath, subscripted?.path);
  if (refused !== undefined) {
    return [invalid(`${field}.fieldPath`, fieldPath, `error converting fieldPath: ${refused}`)];
  }
  if (subscripted !== undefined) {
    const { path, key } = subscripted;
    const name = path === "metadata.annotations" ? key.toLowerCase() : key;
    return invalidForEach(field, name, qualifiedNameProblems(name));
  }
  const path = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
  return supported.includes(path) ? [] : [notSupported(`${field}.fieldPath`, path, supported)];
}

function conversionProblem(
  apiVersion: string,
  fieldPath: string,
  subscripted: string | undefined,
): string | undefined {
  if (apiVersion !== "v1") return `unsupported pod version: ${apiVersion}`;
  if (subscripted !== undefined) {
    const isMap = subscripted === "metadata.annotations" || subscripted === "metadata.labels";
    return isMap ? undefined : `field label does not support subscript: ${fieldPath}`;
  }
  if (podFieldLabels.has(fieldPath) || fieldPath === "spec.host") return undefined;
  return `field label not supported: ${fieldPath}`;
}

/** Checks a reference to a resource of a container; a volume must say of which container. */
export function validateResourceSelector(
  selector: ResourceFieldSelector,
  field: FieldPath,
  isInVolume: boolean,
): FieldError[] {
  const { resource } = selector;
  const errors: FieldError[] = [];
  if (isInVolume && (selector.containerName ?? "") === "") {
    errors.push(required(`${field}.containerName`));
  } else if (resource === "") {
    errors.push(required(`${field}.resource`));
  } else if (!resourceFields.includes(resource) && !hugePagesField.test(resource)) {
    errors.push(notSupported(`${field}.resource`, resource, resourceFields));
  }
  return [...errors, ...validateDivisor(resource, selector.divisor, `${field}.divisor`)];
}

function validateDivisor(
  resource: string,
  divisor: string | undefined,
  field: FieldPath,
): FieldError[] {
  const amount = mustParseQuantity(divisor ?? "0");
  if (isZeroQuantity(amount)) return [];
  const text = formatQuantity(amount);
  const rule = divisorRule(resource);
  if (rule === undefined || rule.divisors.has(text)) return [];
  const detail = `only divisor's values ${rule.shown} are supported with the ${rule.what} resource`;
  return [invalid(field, resource, detail)];
}

interface DivisorRule {
  readonly divisors: ReadonlySet<string>;
  readonly shown: string;
  readonly what: string;
}

function divisorRule(resource: string): DivisorRule | undefined {
  const bytes = { divisors: byteDivisors, shown: byteDivisorNames.join(", ") };
  if (hugePagesField.test(resource)) return { ...bytes, what: "hugepages" };
  if (!resourceFields.includes(resource)) return undefined;
  if (resource.endsWith(".cpu")) return { divisors: cpuDivisors, shown: "1m and 1", what: "cpu" };
  const what = resource.endsWith(".memory") ? "memory" : "local ephemeral storage";
  return { ...bytes, what };
}
