import { expect, test } from "vitest";
import { VirtualClock } from "../../drivers/sim/virtual-clock.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import { AgentMetrics } from "./agent-metrics.ts";

test("what was measured of a pod's probes goes with the pod", () => {
  const registry = new MetricsRegistry(metricDefinitions);
  const metrics = new AgentMetrics(registry, new VirtualClock());
  const container = { name: "c", image: "i" };
  for (const uid of ["1", "2"]) {
    const pod = {
      metadata: { name: `pod-${uid}`, namespace: "ns", uid },
      spec: { containers: [container] },
    };
    const subject = { kind: "liveness", probe: {}, pod, container, agentStartedAtMs: 0 } as const;
    metrics.noteProbe(subject, "Success", 100);
  }
  metrics.forget("1");
  const text = registry.text((name) => name.startsWith("prober_"));
  expect(text).not.toContain('pod="pod-1"');
  expect(text).toContain("prober_probe_duration_seconds_count{");
  expect(text).toContain('pod="pod-2"');
});
