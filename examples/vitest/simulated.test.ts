// How a node treats your manifests: restarts, probes, hooks and ends, without a single container.
import { type BerthNode, createNode, type PodManifest } from "berth";
import { afterAll, beforeAll, expect, test } from "vitest";

let node: BerthNode;
beforeAll(async () => {
  node = await createNode({ kind: "simulated", speed: 50 });
});
afterAll(() => node.stop());

function server(name: string, annotations: Record<string, string>): PodManifest {
  const readinessProbe = { httpGet: { path: "/healthz", port: 8080 }, periodSeconds: 1 };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations },
    spec: { containers: [{ name: "main", image: "registry.test/server:1", readinessProbe }] },
  };
}

test("a server is not ready before its probe succeeds", async () => {
  const [pod] = await node.apply(
    server("slow", { "sim.berth.dev/main.readiness": "fail 20s, ok" }),
  );
  await pod?.waitFor(({ status }) => status?.phase === "Running");
  const ready = await pod?.waitFor("ready");
  const { startTime = "", conditions = [] } = ready?.status ?? {};
  const readyAt = conditions.find(({ type }) => type === "Ready")?.lastTransitionTime ?? "";
  expect(Date.parse(readyAt) - Date.parse(startTime)).toBeGreaterThanOrEqual(19_000);
});

test("a server that crashes is started again, later each time", async () => {
  const decisions = await node.watchDecisions();
  const [pod] = await node.apply(server("crash", { "sim.berth.dev/main": "run 1s, exit 1" }));
  await pod?.waitFor(({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) >= 2);
  for await (const { pod: name, steps } of decisions) {
    const backOff = steps.find(({ detail = "" }) => detail.startsWith("CrashLoopBackOff"));
    if (!name.startsWith("default/crash") || backOff === undefined) continue;
    expect(backOff.because).toContain("exited with code 1");
    break;
  }
});
