import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import { AgentClient } from "../../src/cli/agent-client.ts";
import type { PodSpec } from "../../src/model/generated/kubernetes.ts";
import { BusService, hasDbusDaemon, PrivateBus } from "../fakes/private-bus.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { BerthProcess, buildProgram } from "./support/agent-process.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { removeCgroups } from "./support/leftovers.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const network = 100;

/** A machine whose logind is on a message bus of its own, and whose locks are files. */
describe.runIf(hasDbusDaemon)("a machine that shuts down", () => {
  const bus = new PrivateBus();
  let world: RuntimeWorld;
  let folder: string;
  let logind: BusService;
  let client: AgentClient;
  let agent: BerthProcess;

  beforeAll(async () => {
    buildProgram();
    await bus.start();
    logind = await BusService.open(bus.path, "org.freedesktop.login1", () => ({
      signature: "v",
      body: [{ signature: "t", value: 60_000_000n }],
    }));
    world = await startRuntimeWorld({ network });
    folder = makeTestFolder("shutdown");
    for (const name of ["manifests", "bin"]) mkdirSync(join(folder, name));
    const lock = join(folder, "lock");
    const script = `#!/bin/sh\nshift 4\ntouch ${lock}\n"$@"\nrm ${lock}\n`;
    writeFileSync(join(folder, "bin/systemd-inhibit"), script);
    chmodSync(join(folder, "bin/systemd-inhibit"), 0o755);
    writeFileSync(join(folder, "resolv.conf"), "nameserver 10.1.2.3\n");
    writeFileSync(join(folder, "kubelet.yaml"), configText());
    client = new AgentClient(join(folder, "root/berth.sock"));
    await startAgent();
  });

  afterAll(async () => {
    await agent.stop("SIGTERM");
    const sandboxes = await world.runtime.listPodSandboxes({}, AbortSignal.timeout(60_000));
    for (const { id = "" } of sandboxes) await world.removePod(id);
    removeCgroups(world.cgroupRoot);
    await world.close();
    logind.close();
    await bus.stop();
    await removeFolder(folder);
  });

  beforeEach(() => {
    onTestFailed(() => console.error(agent.stderr));
  });

  async function startAgent(): Promise<void> {
    agent = new BerthProcess(
      [
        "kubelet",
        `--config=${join(folder, "kubelet.yaml")}`,
        `--root-dir=${join(folder, "root")}`,
        `--cert-dir=${join(folder, "pki")}`,
        "--hostname-override=node",
      ],
      {
        DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${bus.path}`,
        PATH: `${join(folder, "bin")}:${process.env["PATH"] ?? ""}`,
      },
    );
    await agent.untilPrinted(({ stderr }) => stderr.includes("the agent is up"));
  }

  function configText(): string {
    return JSON.stringify({
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      staticPodPath: "manifests",
      podLogsDir: "logs",
      resolvConf: "resolv.conf",
      containerRuntimeEndpoint: world.containerd.endpoint,
      cgroupRoot: world.cgroupRoot,
      failCgroupV1: false,
      failSwapOn: false,
      enableServer: false,
      healthzPort: 0,
      makeIPTablesUtilChains: false,
      evictionHard: {},
      shutdownGracePeriodByPodPriority: [
        { priority: 0, shutdownGracePeriodSeconds: 20 },
        { priority: 1000, shutdownGracePeriodSeconds: 10 },
      ],
    });
  }

  function write(name: string, spec: Partial<PodSpec> = {}): void {
    writeFileSync(join(folder, `manifests/${name}.json`), podManifest(name, spec));
  }

  function announce(isShuttingDown: boolean): void {
    const member = "org.freedesktop.login1.Manager.PrepareForShutdown";
    logind.signal("/org/freedesktop/login1", member, "b", [isShuttingDown]);
  }

  test("pods end, the least important first, and only then it may go on", async () => {
    const record = join(folder, "ends");
    writeFileSync(record, "");
    const volumes = [{ name: "record", hostPath: { path: record, type: "File" } }];
    const noting = (name: string): Partial<PodSpec> => {
      const script = `trap 'echo ${name} >> /record; exit 0' TERM; sleep 3600 & wait`;
      const volumeMounts = [{ name: "record", mountPath: "/record" }];
      return { containers: [shell("main", script, { volumeMounts })], volumes };
    };
    write("important", { ...noting("important"), priority: 1000 });
    write("plain", noting("plain"));
    const lock = join(folder, "lock");
    await expect.poll(() => existsSync(lock), { timeout: 60_000 }).toBe(true);
    for (const name of ["important", "plain"]) await waitForPod(client, `${name}-node`, isReady);
    announce(true);
    const plain = await waitForPod(
      client,
      "plain-node",
      ({ status }) => status?.phase === "Failed",
    );
    expect(plain.status).toMatchObject({
      reason: "Terminated",
      message: "Pod was terminated in response to imminent node shutdown.",
    });
    expect(plain.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "DisruptionTarget", reason: "TerminationByKubelet" }),
    );
    await expect.poll(() => existsSync(lock), { timeout: 60_000 }).toBe(false);
    // What is known is known for good before the lock is gone.
    const important = await waitForPod(client, "important-node", () => true);
    expect(important.status).toMatchObject({ phase: "Failed", reason: "Terminated" });
    expect(readFileSync(record, "utf8")).toBe("plain\nimportant\n");
  });

  test("no new pod is taken while it goes down, and the lock is back when it does not", async () => {
    write("late", { containers: [shell("main", untilStopped)] });
    const late = await waitForPod(client, "late-node", ({ status }) => status?.phase === "Failed");
    expect(late.status).toMatchObject({
      reason: "NodeShutdown",
      message: "Pod was rejected: Pod was rejected as the node is shutting down.",
    });
    announce(false);
    await expect.poll(() => existsSync(join(folder, "lock")), { timeout: 60_000 }).toBe(true);
    write("later");
    await waitForPod(client, "later-node", isReady);
  });

  test("what the shutdown ended runs again when the agent is back", async () => {
    await agent.stop("SIGTERM");
    await startAgent();
    for (const name of ["plain", "important", "late"]) {
      const { status } = await waitForPod(client, `${name}-node`, isReady);
      expect(status?.phase).toBe("Running");
    }
  });
});
