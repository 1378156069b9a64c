import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import type { ResourceRequirements } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { isReady } from "../integration/support/agent-watch.ts";
import { MachineNode } from "./support/machine-node.ts";
import { podsSlice, scopeOf, sliceOf, textIn } from "./support/slices.ts";

const mebibyte = 2 ** 20;
const podPidsLimit = 60;

describe("pods in slices of systemd", () => {
  let node: MachineNode;

  beforeAll(async () => {
    node = await MachineNode.start({ podPidsLimit });
  });
  afterAll(() => node.close());
  beforeEach(() => {
    onTestFailed(() => console.error(node.agent.stderr));
  });

  function run(name: string, resources: ResourceRequirements): Promise<Pod> {
    return node.run(name, { containers: [shell("main", untilStopped, { resources })] });
  }

  test("pods of all classes side by side have what Kubernetes gives them", async () => {
    const guaranteed = await run("guaranteed", {
      requests: { cpu: "250m", memory: "64Mi" },
      limits: { cpu: "250m", memory: "64Mi" },
    });
    const burstable = await run("burstable", {
      requests: { cpu: "100m", memory: "32Mi" },
      limits: { memory: "128Mi" },
    });
    const bestEffort = await run("besteffort", {});
    const max = String(podPidsLimit);
    expect(limitsOf(sliceOf(guaranteed))).toEqual(["10", "25000 100000", "67108864", max]);
    expect(limitsOf(sliceOf(burstable))).toEqual(["4", "max 100000", String(128 * mebibyte), max]);
    expect(limitsOf(sliceOf(bestEffort))).toEqual(["1", "max 100000", "max", max]);
    // systemd knows the same limits: it writes them again whenever it sets cgroups up.
    execFileSync("systemctl", ["daemon-reload"]);
    const slice = sliceOf(guaranteed).split("/").at(-1) ?? "";
    expect(show(slice, ["MemoryMax", "CPUWeight", "CPUQuotaPerSecUSec", "TasksMax"])).toEqual([
      "CPUQuotaPerSecUSec=250ms",
      "CPUWeight=10",
      "MemoryMax=67108864",
      `TasksMax=${podPidsLimit}`,
    ]);
    expect(limitsOf(sliceOf(guaranteed))).toEqual(["10", "25000 100000", "67108864", max]);
    const scope = scopeOf(guaranteed, await node.containerId(guaranteed));
    expect(textIn(scope, "memory.max")).toBe("67108864");
    expect(textIn(scope, "memory.oom.group")).toBe("1");
  });

  test("an agent that was killed takes its pods over as they are", async () => {
    const pod = await node.waitFor("burstable", isReady);
    const before = await node.containerId(pod);
    await node.agent.stop("SIGKILL");
    await node.startAgent({ podPidsLimit });
    const again = await node.waitFor("burstable", isReady);
    expect(await node.containerId(again)).toBe(before);
    expect(again.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  test("a container that takes too much memory ends whole, and the status says why", async () => {
    const resources = { limits: { memory: "32Mi" } };
    const script = "(exec tail /dev/zero) & wait; sleep 3600";
    node.write("hog", {
      restartPolicy: "Never",
      containers: [shell("main", script, { resources })],
    });
    const pod = await node.waitFor("hog", ({ status }) => status?.phase === "Failed");
    expect(pod.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      reason: "OOMKilled",
      exitCode: 137,
    });
    await node.remove("hog", pod.metadata.uid);
  });

  test("statistics have memory, CPU, processes and pressure of pod and node", async () => {
    const pod = await node.waitFor("guaranteed", isReady);
    const stats = await node.client.readStats(AbortSignal.timeout(60_000));
    const own = stats.pods.find(({ podRef }) => podRef.uid === pod.metadata.uid);
    expect(own?.memory?.workingSetBytes).toBeGreaterThan(0);
    expect(own?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
    expect(own?.processStats?.processCount).toBeGreaterThan(0);
    expect(own?.memory?.psi?.full.total).toBeGreaterThanOrEqual(0);
    expect(stats.node.cpu?.psi?.some.total).toBeGreaterThan(0);
  });

  test("a pod that goes leaves no slice", async () => {
    const pod = await node.waitFor("guaranteed", isReady);
    const slice = sliceOf(pod);
    expect(existsSync(slice)).toBe(true);
    await node.remove("guaranteed", pod.metadata.uid);
    expect(existsSync(slice)).toBe(false);
    const name = slice.split("/").at(-1) ?? "";
    expect(show(name, ["ActiveState"])).toEqual(["ActiveState=inactive"]);
    expect(readdirSync(podsSlice)).toContain("kubepods-burstable.slice");
  });
});

function limitsOf(cgroup: string): readonly string[] {
  return ["cpu.weight", "cpu.max", "memory.max", "pids.max"].map((file) => textIn(cgroup, file));
}

/** What systemd has of a unit. */
function show(unit: string, properties: readonly string[]): readonly string[] {
  const flags = properties.map((name) => `--property=${name}`);
  const text = execFileSync("systemctl", ["show", unit, ...flags], { encoding: "utf8" });
  return text.trim().split("\n").toSorted();
}
