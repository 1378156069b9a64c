import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import { AgentClient } from "../../src/cli/agent-client.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { BerthProcess, buildProgram } from "./support/agent-process.ts";
import { isReady, restartsOf, waitForPod } from "./support/agent-watch.ts";
import { DevicePlugin } from "./support/device-plugin.ts";
import { removeCgroups } from "./support/leftovers.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const network = 212;
const timeoutMs = 60_000;
const resource = "example.com/device";

describe("containers with the devices of a device plugin", () => {
  let world: RuntimeWorld;
  let folder: string;
  let rootDir: string;
  let client: AgentClient;
  let agent: BerthProcess;
  let plugin: DevicePlugin;

  beforeAll(async () => {
    buildProgram();
    world = await startRuntimeWorld({ network });
    folder = makeTestFolder("devices");
    rootDir = join(folder, "root");
    client = new AgentClient(join(rootDir, "berth.sock"));
    mkdirSync(join(folder, "manifests"));
    writeFileSync(join(folder, "kubelet.yaml"), configText());
    agent = await startAgent();
    plugin = await startPlugin();
  });

  afterAll(async () => {
    await plugin[Symbol.asyncDispose]();
    if (agent.isRunning) await agent.stop("SIGTERM");
    const sandboxes = await world.runtime.listPodSandboxes({}, AbortSignal.timeout(timeoutMs));
    for (const { id = "" } of sandboxes) await world.removePod(id);
    removeCgroups(world.cgroupRoot);
    await world.close();
    await removeFolder(folder);
  });

  beforeEach(() => {
    onTestFailed(() => console.error(agent.stderr));
  });

  function configText(): string {
    return JSON.stringify({
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      staticPodPath: "manifests",
      podLogsDir: "logs",
      containerRuntimeEndpoint: world.containerd.endpoint,
      cgroupRoot: world.cgroupRoot,
      failCgroupV1: false,
      failSwapOn: false,
      enableServer: false,
      healthzPort: 0,
      makeIPTablesUtilChains: false,
      evictionHard: {},
    });
  }

  async function startAgent(): Promise<BerthProcess> {
    const started = new BerthProcess([
      "kubelet",
      `--config=${join(folder, "kubelet.yaml")}`,
      `--root-dir=${rootDir}`,
      `--cert-dir=${join(folder, "pki")}`,
      "--hostname-override=devices",
    ]);
    await started.untilPrinted(({ stderr }) => stderr.includes("the agent is up"));
    return started;
  }

  async function startPlugin(): Promise<DevicePlugin> {
    const plugins = join(rootDir, "device-plugins");
    await until(async () => {
      execFileSync("test", ["-S", join(plugins, "kubelet.sock")]);
      return true;
    });
    return DevicePlugin.start({ folder: plugins, resource, devices: ["a", "b"] });
  }

  async function until(isTrue: () => Promise<boolean>): Promise<void> {
    const deadline = AbortSignal.timeout(timeoutMs);
    while (!(await isTrue().catch(() => false))) {
      deadline.throwIfAborted();
      await delay(100);
    }
  }

  function write(name: string): void {
    const resources = { limits: { [resource]: "1" } };
    const container = shell("main", untilStopped, { resources });
    const text = podManifest(name, { containers: [container] });
    writeFileSync(join(folder, "manifests", `${name}.json`), text);
  }

  function waitFor(name: string, isReached: (pod: Pod) => boolean): Promise<Pod> {
    return waitForPod(client, `${name}-devices`, isReached);
  }

  function idOf({ status }: Pod): string {
    return (status?.containerStatuses?.[0]?.containerID ?? "").replace("containerd://", "");
  }

  /** What the container itself has: the plugin's variable, and its device. */
  async function inside(pod: Pod): Promise<string> {
    const { stdout } = await world.runtime.execSync(
      runtimeContainerId(idOf(pod)),
      ["sh", "-c", "echo $DEVICES; test -c /dev/test-device && echo device"],
      60,
      AbortSignal.timeout(timeoutMs),
    );
    return new TextDecoder().decode(stdout).trim();
  }

  function podResources(): object {
    const socket = `--socket=${join(rootDir, "pod-resources/kubelet.sock")}`;
    const args = ["pod-resources", socket, "--call=List"];
    const text = execFileSync(clusterProgram("device-programs"), args, { encoding: "utf8" });
    return JSON.parse(text) as object;
  }

  function checkpoint(): { readonly Data: { readonly PodDeviceEntries: readonly object[] } } {
    const file = join(rootDir, "device-plugins/kubelet_internal_checkpoint");
    return JSON.parse(readFileSync(file, "utf8")) as ReturnType<typeof checkpoint>;
  }

  test("a container gets what the plugin answers, and programs of the node can read what it holds", async () => {
    await until(async () => JSON.stringify(checkpoint()).includes('"a","b"'));
    write("first");
    const pod = await waitFor("first", isReady);
    expect(plugin.allocations).toEqual([["a"]]);
    expect(await inside(pod)).toBe("a\ndevice");
    const { uid } = pod.metadata;
    expect(checkpoint().Data.PodDeviceEntries).toMatchObject([
      { PodUID: uid, ContainerName: "main", ResourceName: resource, DeviceIDs: { "-1": ["a"] } },
    ]);
    expect(podResources()).toMatchObject({
      pod_resources: [
        {
          name: "first-devices",
          containers: [{ name: "main", devices: [{ resource_name: resource, device_ids: ["a"] }] }],
        },
      ],
    });
    const [main] = pod.status?.containerStatuses ?? [];
    expect(main?.allocatedResourcesStatus).toEqual([
      { name: resource, resources: [{ resourceID: "a", health: "Healthy" }] },
    ]);
  });

  test("a device that fails shows in the pod's status", async () => {
    plugin.setHealth("a", "Unhealthy");
    const isUnhealthy = ({ status }: Pod): boolean =>
      JSON.stringify(status?.containerStatuses).includes('"Unhealthy"');
    const [main] = (await waitFor("first", isUnhealthy)).status?.containerStatuses ?? [];
    expect(main?.allocatedResourcesStatus).toEqual([
      { name: resource, resources: [{ resourceID: "a", health: "Unhealthy" }] },
    ]);
    plugin.setHealth("a", "Healthy");
    await waitFor("first", (pod) => !isUnhealthy(pod));
  });

  test("a container keeps its device over its own restart, the agent's death and the plugin's", async () => {
    const before = await waitFor("first", isReady);
    await plugin[Symbol.asyncDispose]();
    await agent.stop("SIGKILL");
    agent = await startAgent();
    const adopted = await waitFor("first", isReady);
    expect(idOf(adopted)).toBe(idOf(before));
    // The plugin is away, and the agent is new.
    await world.runtime.stopContainer(
      runtimeContainerId(idOf(adopted)),
      0,
      AbortSignal.timeout(timeoutMs),
    );
    const restarted = await waitFor("first", (pod) => isReady(pod) && restartsOf(pod) === 1);
    expect(await inside(restarted)).toBe("a\ndevice");
    plugin = await startPlugin();
    await until(async () => JSON.stringify(checkpoint()).includes('"a","b"'));
    write("second");
    expect(await inside(await waitFor("second", isReady))).toBe("b\ndevice");
    expect(plugin.allocations).toEqual([["b"]]);
  });

  test("a pod for which no device is left is refused, by the resource's name", async () => {
    write("third");
    const third = await waitFor("third", ({ status }) => status?.phase === "Failed");
    expect(third.status?.reason).toBe(`OutOf${resource}`);
  });
});
