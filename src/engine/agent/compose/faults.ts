import { podKey } from "../../../model/pod.ts";
import type { AgentParts } from "../agent-parts.ts";
import { Faults } from "../faults.ts";

export function composeFaults(parts: AgentParts): Faults {
  const { log, metrics, clock } = parts.ports;
  return new Faults({
    log,
    metrics,
    clock,
    showAtPod: (podUid, message) => showAtPod(parts, podUid, message),
  });
}

/** As an event, and for `berth why`. */
function showAtPod(parts: AgentParts, podUid: string, message: string): void {
  const pod = parts.registry.get(podUid);
  if (pod === undefined) return;
  const { events, recorder } = parts.memory;
  const startedAtMs = parts.ports.clock.nowMs();
  recorder.record({
    podUid,
    pod: podKey(pod),
    kind: "sync",
    startedAtMs,
    durationMs: 0,
    seen: [],
    steps: [],
    error: message,
  });
  events.record(pod, { type: "Warning", reason: "FailedSync", message });
}
