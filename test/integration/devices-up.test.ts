import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Volume } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

const resource = "example.com/resource";
let world: AgentWorld;

beforeAll(async () => {
  world = await AgentWorld.start(213);
});
afterAll(async () => {
  await world.close();
  rmSync("/tmp/Dev-1", { recursive: true, force: true });
});

/** Kubernetes' own sample of a device plugin, as a pod of the manifest folder. */
function pluginManifest(): string {
  const hosted = (name: string, path: string, type: string): Volume => ({
    name,
    hostPath: { path, type },
  });
  return podManifest("plugin", {
    volumes: [
      hosted("program", clusterProgram("sample-device-plugin"), "File"),
      hosted("plugins", join(world.dataDir, "kubelet/device-plugins"), "Directory"),
      // What it hands out are files that it makes there, by their paths on the node.
      hosted("files", "/tmp", "Directory"),
    ],
    containers: [
      {
        name: "main",
        image: "busybox:latest",
        imagePullPolicy: "IfNotPresent",
        command: ["/plugin"],
        volumeMounts: [
          { name: "program", mountPath: "/plugin", readOnly: true },
          { name: "plugins", mountPath: "/var/lib/kubelet/device-plugins" },
          { name: "files", mountPath: "/tmp" },
        ],
      },
    ],
  });
}

function userManifest(name: string, count: number): string {
  const resources = { limits: { [resource]: String(count) } };
  return podManifest(name, { containers: [shell("main", untilStopped, { resources })] });
}

async function stdout(...args: readonly string[]): Promise<string> {
  return (await world.berth(...args)).stdout;
}

async function untilNodeShows(text: RegExp): Promise<void> {
  await expect.poll(() => stdout("describe", "node"), { timeout: 60_000 }).toMatch(text);
}

/** The devices that the container has, as its own mounts show them. */
async function devicesIn(name: string): Promise<string> {
  const script = "sed -n 's,.* /tmp/\\(Dev-[0-9]\\) .*,\\1,p' /proc/mounts";
  return (await stdout("exec", name, "--", "sh", "-c", script)).trim();
}

function waitFor(name: string, isReached: (pod: Pod) => boolean): Promise<Pod> {
  return waitForPod(world.client, world.podName(name), isReached);
}

test("a device plugin that is a pod of the folder gives its devices to the pods beside it", async () => {
  world.write("plugin.json", pluginManifest());
  await untilNodeShows(/example.com\/resource:\n +Capacity: +2\n +Allocatable: +2\n/);
  world.write("user.json", userManifest("user", 1));
  await waitFor("user", isReady);
  expect(await devicesIn("user")).toBe("Dev-1");
  expect(await stdout("describe", "pod", "user")).toMatch(
    /Holds:\n +example.com\/resource: +Dev-1\n +because its limits name it; the first free ones by ID/,
  );
  expect(await stdout("describe", "node")).toMatch(
    /Handed Out: +Dev-1 to default\/user-node, container main\n +Free: +Dev-2/,
  );
});

test("what is left is known before the next pod comes, and one that asks for more is refused", async () => {
  const file = join(world.folder, "more.json");
  writeFileSync(file, userManifest("more", 2));
  const plan = await stdout("plan", "-f", file);
  expect(plan).toContain(`rejected: OutOf${resource}`);
});

test("devices stay where they are when the agent is killed, and when their plugin goes", async () => {
  const before = await waitFor("user", isReady);
  await world.agent.stop("SIGKILL");
  await world.up();
  await untilNodeShows(/Capacity: +2\n +Allocatable: +2\n +Handed Out: +Dev-1 to/);
  const plugin = await waitFor("plugin", isReady);
  world.remove("plugin.json");
  await waitUntilGone(world.client, plugin.metadata.uid);
  await untilNodeShows(/Capacity: +2\n +Allocatable: +0\n[^]*Unhealthy: +Dev-1,Dev-2/);
  const after = await waitFor("user", isReady);
  expect(after.status?.containerStatuses).toEqual(before.status?.containerStatuses);
  expect(await devicesIn("user")).toBe("Dev-1");
});

test("a claim of devices is refused with what to do instead", async () => {
  const resources = { claims: [{ name: "gpu" }] };
  const containers = [shell("main", untilStopped, { resources })];
  const resourceClaims = [{ name: "gpu", resourceClaimName: "gpu" }];
  world.write("claiming.json", podManifest("claiming", { containers, resourceClaims }));
  const refused = await waitFor("claiming", ({ status }) => status?.phase === "Failed");
  expect(refused.status).toMatchObject({ reason: "UnsupportedField" });
  expect(refused.status?.message).toMatch(
    /^.*spec.resourceClaims: not supported by this node without a cluster, .*run the device plugin/,
  );
});
