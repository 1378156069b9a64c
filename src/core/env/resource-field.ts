import { err, ok, type Result } from "../../lib/result.ts";
import type { ResourceFieldSelector } from "../../model/generated/kubernetes.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import {
  isZeroQuantity,
  mustParseQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
} from "../../model/quantity.ts";
import { isPodLevelResource } from "../resource/pod-resources.ts";
import { amountOf, hugePagesPrefix, resourceList } from "../resource/resource-list.ts";

type Amounts = Readonly<Record<string, string>>;

const limitedByNode = ["cpu", "memory", "ephemeral-storage"];

/** What of the node a container of this pod can use where it has no limit: the pod's own limit goes first. */
export function allocatableForPod(pod: Pod, allocatable: Amounts): Amounts {
  const podLimits = Object.entries(pod.spec.resources?.limits ?? {}).filter(
    ([name, limit]) =>
      limitedByNode.includes(name) &&
      isPodLevelResource(name) &&
      Object.hasOwn(allocatable, name) &&
      !isZeroQuantity(mustParseQuantity(limit)),
  );
  return { ...allocatable, ...Object.fromEntries(podLimits) };
}

/** The container with the node's amounts as limits where it has none. Huge pages always have one. */
export function withDefaultLimits<T extends AnyContainer>(container: T, allocatable: Amounts): T {
  const limits = container.resources?.limits ?? {};
  const missing = limitedByNode.filter((name) => {
    const limit = limits[name];
    const isUnlimited = limit === undefined || isZeroQuantity(mustParseQuantity(limit));
    return isUnlimited && Object.hasOwn(allocatable, name);
  });
  const added = missing.map((name) => [name, allocatable[name] ?? "0"] as const);
  return {
    ...container,
    resources: { ...container.resources, limits: { ...limits, ...Object.fromEntries(added) } },
  };
}

/** A request or limit of a container in units of the divisor, rounded up. */
export function containerResourceField(
  { resource, divisor }: ResourceFieldSelector,
  container: AnyContainer,
): Result<string, string> {
  const [, kind, name = ""] = /^(requests|limits)\.(.*)$/s.exec(resource) ?? [];
  const isSupported = limitedByNode.includes(name) || name.startsWith(hugePagesPrefix);
  if (!isSupported) return err(`unsupported container resource : ${resource}`);
  const list = kind === "requests" ? container.resources?.requests : container.resources?.limits;
  const given = mustParseQuantity(divisor ?? "0");
  const unit = isZeroQuantity(given) ? mustParseQuantity("1") : given;
  return ok(ratioText(amountOf(resourceList(list), name), unit, name === "cpu"));
}

function ratioText(amount: Quantity, unit: Quantity, isCpu: boolean): string {
  const valueOf = isCpu ? quantityMilliValue : quantityValue;
  const ratio = Math.ceil(Number(valueOf(amount)) / Number(valueOf(unit)));
  // A unit beyond 64 bits counts as zero; the kubelet's answer is then the smallest number it has.
  return Number.isFinite(ratio) ? BigInt(ratio).toString() : String(-(2n ** 63n));
}
