import { Table } from "../../src/cli/output/table.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podRow } from "../../src/model/pod-row.ts";

export interface PodReport {
  readonly name: string;
  /** Ready or Succeeded; a pod that is meant to crash is well once it backs off. */
  readonly isWell: boolean;
  readonly reason: string;
}

export function podReport(pod: Pod): PodReport {
  const { status = {}, metadata } = pod;
  const isReady = (status.conditions ?? []).some(
    (condition) => condition.type === "Ready" && condition.status === "True",
  );
  const waiting = (status.containerStatuses ?? []).flatMap(({ state }) =>
    state?.waiting === undefined ? [] : [state.waiting],
  );
  const isMeantToCrash = metadata.annotations?.["berth.dev/expected"] === "crash-loop";
  const crashes = waiting.some(({ reason }) => reason === "CrashLoopBackOff");
  const details = waiting.map(({ reason, message }) => `${reason ?? ""} ${message ?? ""}`.trim());
  return {
    name: metadata.name,
    isWell: isMeantToCrash ? crashes : isReady || status.phase === "Succeeded",
    reason: [status.phase ?? "Pending", status.reason ?? "", ...details].filter(Boolean).join(", "),
  };
}

/** The table of `berth get pods`. */
export function podTable(pods: readonly Pod[], nowMs: number): string {
  const table = new Table(["NAME", "READY", "STATUS", "RESTARTS", "AGE"], true, (_, text) => text);
  const rows = pods
    .map((pod) => podRow(pod, nowMs))
    .map(({ name, ready, status, restarts, age }) => [name, ready, status, restarts, age]);
  return table.lines(rows).join("\n");
}
