// CVE-2020-8557: a container fills the node's disk through its /etc/hosts, in a file that the agent has replaced and forgotten.
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { waitForPod } from "../integration/support/agent-watch.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start(211);
});
afterAll(() => world.close());

test("what a container writes to /etc/hosts counts, also after another container was started since", async () => {
  const shared = join(world.folder, "shared");
  mkdirSync(shared);
  const isThere = (name: string): boolean => existsSync(join(shared, name));
  const until = (name: string): string => `until [ -e /shared/${name} ]; do sleep 0.1; done`;
  // A word of its own makes the agent write the file again when the other container restarts.
  const flood = `echo 10.0.0.1 mine > /etc/hosts; touch /shared/written; ${until("go")}
    head -c 5000000 /dev/zero > /etc/hosts; touch /shared/flooded; ${untilStopped}`;
  const restart = `${until("written")}; [ -e /shared/first ] || { touch /shared/first; exit 1; }
    touch /shared/restarted; ${untilStopped}`;
  const more = {
    volumeMounts: [{ name: "shared", mountPath: "/shared" }],
    resources: { limits: { "ephemeral-storage": "1Mi" } },
  };
  const containers = [shell("flood", flood, more), shell("other", restart, more)];
  const volumes = [{ name: "shared", hostPath: { path: shared } }];
  world.write("hosts.json", podManifest("hosts", { containers, volumes }));
  await expect.poll(() => isThere("restarted")).toBe(true);
  const [pod] = (await world.client.listPods(undefined, {}, AbortSignal.timeout(60_000))).items;
  writeFileSync(join(shared, "go"), "");
  await expect.poll(() => isThere("flooded")).toBe(true);
  const hostsFile = join(world.dataDir, "kubelet/pods", pod?.metadata.uid ?? "", "etc-hosts");
  expect(statSync(hostsFile).size).toBe(5_000_000);
  const isEvicted = ({ status }: Pod): boolean => status?.reason === "Evicted";
  const evicted = await waitForPod(world.client, world.podName("hosts"), isEvicted);
  expect(evicted.status?.message).toContain("ephemeral local storage usage exceeds");
});
