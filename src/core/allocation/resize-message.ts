import { jsonText } from "../../lib/go-text.ts";
import type { Container, ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { formatQuantity } from "../../model/quantity.ts";
import { resourceList } from "../resource/resource-list.ts";

/** The text of an event about a resize: what happened, and the resources that the pod asks for. */
export function resizeMessage(
  happened: string,
  { spec }: Pod,
  generation: number,
  error = "",
): string {
  const summary = {
    initContainers: nonEmpty((spec.initContainers ?? []).map(summarized)),
    containers: nonEmpty(spec.containers.map(summarized)),
    generation,
    error: error === "" ? undefined : error,
  };
  return `Pod resize ${happened}: ${jsonText(summary)}`;
}

function summarized({ name, resources = {} }: Container): unknown {
  return { name, resources: encodedResources(resources) };
}

/** Resources as they are written to JSON: in a fixed order, amounts in their canonical form. */
export function encodedResources({ limits, requests, claims }: ResourceRequirements): unknown {
  return {
    limits: canonical(limits),
    requests: canonical(requests),
    claims: nonEmpty(claims ?? []),
  };
}

function canonical(amounts: Readonly<Record<string, string>> | undefined): unknown {
  const entries = [...resourceList(amounts)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map(([name, amount]) => [name, formatQuantity(amount)]));
}

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}
