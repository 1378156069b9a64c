import type { Pod } from "../model/pod.ts";

/** A PodList as the kubelet writes it. */
export function podListText(items: readonly object[]): string {
  const list = { kind: "PodList", apiVersion: "v1", metadata: {} };
  return `${JSON.stringify({ ...list, items: items.length === 0 ? null : items })}\n`;
}

/** An item of a list does not say again what it is. */
export function listedPod({ apiVersion: _version, kind: _kind, ...pod }: Pod): object {
  return pod;
}
