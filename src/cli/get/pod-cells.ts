import type { Pod } from "../../model/pod.ts";
import { podRow } from "../../model/pod-row.ts";
import { printable } from "../output/colour.ts";

/** Which columns `berth get pods` has. */
export interface PodColumns {
  readonly withNamespace: boolean;
  readonly isWide: boolean;
}

export function podHeader({ withNamespace, isWide }: PodColumns): readonly string[] {
  return [
    ...(withNamespace ? ["NAMESPACE"] : []),
    "NAME",
    "READY",
    "STATUS",
    "RESTARTS",
    "AGE",
    ...(isWide ? ["IP", "NODE"] : []),
  ];
}

export function podCells(
  pod: Pod,
  { withNamespace, isWide }: PodColumns,
  nowMs: number,
): readonly string[] {
  const row = podRow(pod, nowMs);
  return [
    ...(withNamespace ? [row.namespace] : []),
    row.name,
    row.ready,
    printable(row.status),
    row.restarts,
    row.age,
    ...(isWide ? [row.ip, row.node] : []),
  ];
}
