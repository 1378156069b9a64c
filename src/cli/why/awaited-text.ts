import { podRow } from "../../model/pod-row.ts";
import type { PodExplanation } from "../../ports/agent-view.ts";
import { printable } from "../output/colour.ts";

/** How a pod stands and what it waits for, in one sentence: the last line of `berth why`. */
export function awaitedText({ pod, awaiting, syncs }: PodExplanation, nowMs: number): string {
  const { status, ready, restarts } = podRow(pod, nowMs);
  const { message } = pod.status ?? {};
  const waits = awaiting.map(({ what }) => what);
  const failure = syncs[0]?.error;
  const parts = [
    `${status}, ${ready} ready, ${restarts} restarts`,
    ...(message === undefined || message === "" ? [] : [message]),
    ...endedContainers(pod),
    ...(waits.length === 0 ? [] : [`it waits for: ${waits.join("; ")}`]),
    ...(failure === undefined || waits.includes(failure) ? [] : [`it failed: ${failure}`]),
  ];
  return printable(parts.join("; "));
}

function endedContainers({ status }: PodExplanation["pod"]): readonly string[] {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.flatMap(({ name, state, lastState }) => {
    const ended = state?.terminated ?? lastState?.terminated;
    if (ended === undefined || ended.exitCode === 0) return [];
    const { message = "" } = ended;
    const said = message === "" ? "" : `: ${message.trim()}`;
    return [`container ${name} exited with code ${ended.exitCode} (${ended.reason})${said}`];
  });
}
