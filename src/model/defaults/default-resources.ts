import type { PodSpec, ResourceRequirements } from "../generated/kubernetes.ts";
import {
  compareQuantity,
  formatQuantity,
  milliRoundedQuantity,
  parseQuantity,
} from "../quantity.ts";
import { containerLimits, containerRequests } from "../validate/container-totals.ts";
import { isHugePages, isPodLevelResource } from "../validate/resource-names.ts";

type Amounts = Readonly<Record<string, string>>;

/** Limits without a request become requests. */
export function withRequestsFromLimits(
  resources: ResourceRequirements | undefined,
): ResourceRequirements | undefined {
  if (resources?.limits === undefined) return resources;
  return { ...resources, requests: { ...resources.limits, ...resources.requests } };
}

/** Amounts finer than a thousandth are rounded up to it. */
export function withRoundedAmounts(
  resources: ResourceRequirements | undefined,
): ResourceRequirements | undefined {
  if (resources === undefined) return undefined;
  const { limits, requests, ...others } = resources;
  return {
    ...others,
    ...(limits === undefined ? {} : { limits: roundAmounts(limits) }),
    ...(requests === undefined ? {} : { requests: roundAmounts(requests) }),
  };
}

export function roundAmounts(amounts: Amounts): Amounts {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, text]) => [name, roundToMilli(text)]),
  );
}

function roundToMilli(text: string): string {
  const parsed = parseQuantity(text);
  if (!parsed.ok || parsed.value.exponent >= -3) return text;
  const rounded = milliRoundedQuantity(parsed.value);
  return compareQuantity(rounded, parsed.value) === 0 ? text : formatQuantity(rounded);
}

/** What the pod as a whole may use follows from its containers where it names only a part of it. */
export function withPodLevelResources(spec: PodSpec): PodSpec {
  const resources = spec.resources;
  if (resources === undefined) return spec;
  const limits = podLimits(spec, resources);
  const requests = podRequests(spec, { ...resources, limits });
  return {
    ...spec,
    resources: {
      ...resources,
      ...(limits === undefined ? {} : { limits }),
      ...(requests === undefined ? {} : { requests }),
    },
  };
}

function podLimits(spec: PodSpec, { limits, requests }: ResourceRequirements): Amounts | undefined {
  if (isEmpty(limits) && isEmpty(requests)) return limits;
  const added = [...containerLimits(spec)].filter(
    ([name]) => isHugePages(name) && requests?.[name] === undefined,
  );
  const all = { ...texts(added), ...limits };
  return isEmpty(all) ? limits : all;
}

function podRequests(
  spec: PodSpec,
  { limits, requests }: ResourceRequirements,
): Amounts | undefined {
  if (isEmpty(limits)) return requests;
  const fromContainers = [...containerRequests(spec)].filter(
    ([name]) => isPodLevelResource(name) && !isHugePages(name),
  );
  const fromLimits = Object.entries(limits ?? {}).filter(([name]) => isPodLevelResource(name));
  return { ...Object.fromEntries(fromLimits), ...texts(fromContainers), ...requests };
}

function texts(
  amounts: Iterable<readonly [string, Parameters<typeof formatQuantity>[0]]>,
): Amounts {
  return Object.fromEntries(
    Array.from(amounts, ([name, amount]) => [name, formatQuantity(amount)] as const),
  );
}

function isEmpty(amounts: Amounts | undefined): boolean {
  return Object.keys(amounts ?? {}).length === 0;
}
