import type { PodCondition, PodStatus } from "../../model/generated/kubernetes.ts";
import { compareQuantity, parseQuantity } from "../../model/quantity.ts";
import { isKubeletCondition, isSharedCondition } from "./condition-list.ts";

/** Fields that others write. */
const foreignFields: ReadonlySet<string> = new Set([
  "conditions",
  "resourceClaimStatuses",
  "extendedResourceClaimStatus",
  "nodeAllocatableResourceClaimStatuses",
]);

/** Fields whose empty object says no more than their absence. */
const plainFields: ReadonlySet<string> = new Set([
  "state",
  "lastState",
  "allocatedResources",
  "requests",
  "limits",
]);

const quantityFields: ReadonlySet<string> = new Set(["allocatedResources", "requests", "limits"]);

/** Whether two normalized statuses say the same in all that the node writes; transition times do not count. */
export function isSameStatus(a: PodStatus, b: PodStatus): boolean {
  return sameConditions(a.conditions, b.conditions) && sameFields(own(a), own(b));
}

function own(status: PodStatus): object {
  return Object.fromEntries(Object.entries(status).filter(([name]) => !foreignFields.has(name)));
}

function sameConditions(
  a: readonly PodCondition[] | undefined,
  b: readonly PodCondition[] | undefined,
): boolean {
  const left = ownConditions(a);
  const right = ownConditions(b);
  return (
    left.size === right.size &&
    [...left].every(([type, condition]) => {
      const other = right.get(type);
      return (
        other !== undefined &&
        other.status === condition.status &&
        (other.reason ?? "") === (condition.reason ?? "") &&
        (other.message ?? "") === (condition.message ?? "")
      );
    })
  );
}

function ownConditions(conditions: readonly PodCondition[] = []): Map<string, PodCondition> {
  return new Map(
    conditions
      .filter(({ type }) => isKubeletCondition(type) || isSharedCondition(type))
      .map((condition) => [condition.type, condition]),
  );
}

function same(a: unknown, b: unknown, field: string): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((each, index) => same(each, b[index], ""));
  }
  if (isObject(a) && isObject(b)) {
    return quantityFields.has(field) ? sameQuantities(a, b) : sameFields(a, b);
  }
  return a === b;
}

function sameFields(a: object, b: object): boolean {
  const left = written(a);
  const right = written(b);
  return (
    left.size === right.size &&
    [...left].every(([name, value]) => right.has(name) && same(value, right.get(name), name))
  );
}

function sameQuantities(a: object, b: object): boolean {
  const left = written(a);
  const right = written(b);
  return (
    left.size === right.size &&
    [...left].every(([name, value]) => sameQuantity(value, right.get(name)))
  );
}

function sameQuantity(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "string" || typeof b !== "string") return false;
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  return left.ok && right.ok && compareQuantity(left.value, right.value) === 0;
}

/** The fields that say something: an absent one and its zero value are the same, but for `started`. */
function written(object: object): Map<string, unknown> {
  return new Map(
    Object.entries(object).filter(([name, value]) => {
      if (Array.isArray(value)) return value.length > 0;
      if (isObject(value)) return !plainFields.has(name) || written(value).size > 0;
      return name === "started" ? value !== undefined : Boolean(value);
    }),
  );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
