import type { Container } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { compareQuantity, isZeroQuantity, type Quantity } from "../../model/quantity.ts";
import { podRequests } from "../resource/pod-resources.ts";
import { amountOf, resourceList } from "../resource/resource-list.ts";
import { sameOptionalResources } from "./pod-allocation.ts";

/** One change of what a container asks for, as the metric of requested resizes counts it. */
export interface ResizeOperation {
  readonly resource: "memory" | "cpu";
  readonly requirement: "requests" | "limits";
  readonly operation: "add" | "remove" | "increase" | "decrease";
}

/** How the containers of a pod differ in what they ask for before and after. */
export function resizeOperations(before: Pod, after: Pod): ResizeOperation[] {
  return (["initContainers", "containers"] as const).flatMap((kind) =>
    (before.spec[kind] ?? []).flatMap((container) => {
      const other = after.spec[kind]?.find(({ name }) => name === container.name);
      return other === undefined ? [] : containerOperations(container, other);
    }),
  );
}

/** Whether a pod asks for other resources than before. */
export function isResize(before: Pod, after: Pod): boolean {
  return (
    resizeOperations(before, after).length > 0 ||
    !sameOptionalResources(before.spec.resources, after.spec.resources)
  );
}

/** Whether a pod holds less than before, by what it was granted and by what is in force. */
export function isShrunk(before: Pod, after: Pod): boolean {
  const held = podRequests(before, { useStatus: true });
  const holds = podRequests(after, { useStatus: true });
  return ["memory", "cpu"].some(
    (name) => compareQuantity(amountOf(holds, name), amountOf(held, name)) < 0,
  );
}

function containerOperations(before: Container, after: Container): ResizeOperation[] {
  return (["memory", "cpu"] as const).flatMap((resource) =>
    (["requests", "limits"] as const).flatMap((requirement) => {
      const amount = (container: Container) =>
        amountOf(resourceList(container.resources?.[requirement]), resource);
      const operation = operationBetween(amount(before), amount(after));
      return operation === undefined ? [] : [{ resource, requirement, operation }];
    }),
  );
}

function operationBetween(
  before: Quantity,
  after: Quantity,
): ResizeOperation["operation"] | undefined {
  const order = compareQuantity(after, before);
  if (order === 0) return undefined;
  if (isZeroQuantity(after)) return "remove";
  if (isZeroQuantity(before)) return "add";
  return order < 0 ? "decrease" : "increase";
}
