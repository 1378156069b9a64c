import type { Container } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import {
  compareQuantity,
  formatQuantity,
  mustParseQuantity,
  type Quantity,
  wholeQuantity,
  zeroQuantity,
} from "../../model/quantity.ts";
import type { ContainerStats, PodStats } from "../../model/stats-summary.ts";
import { hasPodLevelResources } from "../resource/pod-resources.ts";
import type { Observations } from "./observations.ts";
import { memoryUsage } from "./pod-usage.ts";
import { type StarvedResource, signalResource } from "./signal.ts";
import { type Threshold, thresholdQuantity } from "./threshold.ts";

export interface EvictionMessage {
  readonly message: string;
  /** For the event: who used more than it asked for. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface EvictionCause {
  readonly resource: StarvedResource;
  /** All thresholds that are acted on, the most urgent first. */
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
}

/** The status message of a pod that is evicted because the node is short of something. */
export function evictionMessage(
  pod: Pod,
  stats: PodStats | undefined,
  cause: EvictionCause,
): EvictionMessage {
  const { resource } = cause;
  const low = `The node was low on resource: ${resource}. ${thresholdText(cause)}`;
  if (stats === undefined) return { message: low, annotations: {} };
  const asWhole = podOveruse(pod, stats, resource);
  const overuses = containerOveruses(pod, stats, resource);
  return {
    message: `${low}${asWhole.message}${overuses.map(({ message }) => message).join("")}`,
    annotations: {
      ...asWhole.annotations,
      offending_containers: overuses.map(({ name }) => name).join(","),
      offending_containers_usage: overuses.map(({ usage }) => usage).join(","),
      starved_resource: resource,
    },
  };
}

function thresholdText({ resource, thresholds, observations }: EvictionCause): string {
  for (const { signal, value } of thresholds) {
    const seen = signalResource(signal) === resource ? observations.get(signal) : undefined;
    if (seen === undefined) continue;
    const quantity = formatQuantity(thresholdQuantity(value, seen.capacity));
    return `Threshold quantity: ${quantity}, available: ${formatQuantity(seen.available)}. `;
  }
  return "";
}

function podOveruse(pod: Pod, stats: PodStats, resource: StarvedResource): EvictionMessage {
  const request = pod.spec.resources?.requests?.[resource];
  if (
    resource !== "memory" ||
    request === undefined ||
    stats.memory === undefined ||
    !hasPodLevelResources(pod)
  ) {
    return { message: "", annotations: {} };
  }
  const { name } = pod.metadata;
  const usage = formatQuantity(memoryUsage(stats.memory));
  return {
    message: `Pod ${useText({ name, usage, request: mustParseQuantity(request), resource })}`,
    annotations: { offending_pod: name, offending_pod_usage: usage },
  };
}

interface ContainerOveruse {
  readonly name: string;
  readonly usage: string;
  readonly message: string;
}

function containerOveruses(
  pod: Pod,
  stats: PodStats,
  resource: StarvedResource,
): ContainerOveruse[] {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return stats.containers.flatMap((measured) => {
    const container = containers.find(({ name }) => name === measured.name);
    const used = container === undefined ? undefined : containerUsage(measured, resource);
    if (container === undefined || used === undefined) return [];
    const request = requestOf(container, resource);
    if (compareQuantity(used, request) <= 0) return [];
    const { name } = container;
    const usage = formatQuantity(used);
    return [{ name, usage, message: `Container ${useText({ name, usage, request, resource })}` }];
  });
}

function containerUsage(stats: ContainerStats, resource: StarvedResource): Quantity | undefined {
  switch (resource) {
    case "memory": {
      const bytes = stats.memory?.workingSetBytes;
      return bytes === undefined ? undefined : wholeQuantity(BigInt(bytes), "BinarySI");
    }
    case "ephemeral-storage": {
      const layer = stats.rootfs?.usedBytes;
      const logs = stats.logs?.usedBytes;
      if (layer === undefined || logs === undefined) return undefined;
      return wholeQuantity(BigInt(layer + logs), "BinarySI");
    }
    case "inodes":
    case "pids":
      return undefined;
  }
}

function requestOf({ resources }: Container, resource: StarvedResource): Quantity {
  const text = resources?.requests?.[resource];
  return text === undefined ? zeroQuantity : mustParseQuantity(text);
}

function useText({
  name,
  usage,
  request,
  resource,
}: {
  readonly name: string;
  readonly usage: string;
  readonly request: Quantity;
  readonly resource: StarvedResource;
}): string {
  const asked = formatQuantity(request);
  return `${name} was using ${usage}, request is ${asked}, has larger consumption of ${resource}. `;
}
