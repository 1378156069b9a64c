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

const noFields: ReadonlySet<string> = new Set();

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
  return sameConditions(a.conditions, b.conditions) && sameFields(a, b, same, foreignFields);
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
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((each, index) => same(each, b[index], ""));
  }
  if (isObject(a) && isObject(b)) {
    return sameFields(a, b, quantityFields.has(field) ? sameQuantity : same);
  }
  return false;
}

function sameFields(
  a: object,
  b: object,
  isSame: (left: unknown, right: unknown, field: string) => boolean,
  ignored: ReadonlySet<string> = noFields,
): boolean {
  for (const [name, left] of Object.entries(a)) {
    if (ignored.has(name)) continue;
    const right: unknown = Object.hasOwn(b, name) ? Reflect.get(b, name) : undefined;
    const isThere = isWritten(name, left);
    if (isThere !== isWritten(name, right)) return false;
    if (isThere && !isSame(left, right, name)) return false;
  }
  return Object.entries(b).every(
    ([name, right]) => ignored.has(name) || Object.hasOwn(a, name) || !isWritten(name, right),
  );
}

function sameQuantity(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "string" || typeof b !== "string") return false;
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  return left.ok && right.ok && compareQuantity(left.value, right.value) === 0;
}

/** Whether a field says something: an absent one and its zero value are the same, but for `started`. */
function isWritten(name: string, value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (!isObject(value)) return name === "started" ? value !== undefined : Boolean(value);
  return (
    !plainFields.has(name) ||
    Object.entries(value).some(([field, inner]) => isWritten(field, inner))
  );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
