import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MANAGED_CONTAINERD_DEFAULTS } from "../../src/drivers/containerd/managed-containerd.ts";
import { podManifest, shell } from "./support/agent-manifests.ts";
import { PrivateMachine } from "./support/agent-private-machine.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { findLeftovers, rulesOfDataDir } from "./support/leftovers.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";

describe("the end of an agent", () => {
  let world: AgentWorld;
  beforeEach(async () => {
    world = await AgentWorld.create(6);
  });
  afterEach(() => world.close());

  const startPods = async (): Promise<void> => {
    await world.importImages();
    const volumes = [{ name: "scratch", emptyDir: { medium: "Memory" } }];
    const volumeMounts = [{ name: "scratch", mountPath: "/scratch" }];
    const script = `trap 'echo stopped >> ${world.folder}/stopped; exit 0' TERM; sleep 3600 & wait`;
    const diary = { name: "diary", hostPath: { path: world.folder } };
    const mounts = [...volumeMounts, { name: "diary", mountPath: world.folder }];
    const main = shell("main", script, {
      volumeMounts: mounts,
      ports: [{ containerPort: 80, hostPort: 38080 }],
    });
    world.write("a.json", podManifest("a", { containers: [main], volumes: [...volumes, diary] }));
    world.write("b.json", podManifest("b"));
    const names = ["a", "b"].map((name) => world.podName(name));
    await Promise.all(names.map((name) => waitForPod(world.client, name, isReady)));
  };
  const leftovers = (): readonly string[] => {
    const { dataDir, bridge } = world;
    return findLeftovers({ ...MANAGED_CONTAINERD_DEFAULTS, dataDir, bridge });
  };
  const wasStopped = (): boolean => existsSync(join(world.folder, "stopped"));

  test("berth down removes everything but the manifests after the agent was killed", async () => {
    await world.up();
    await startPods();
    await world.agent.stop("SIGKILL");
    expect(leftovers().length).toBeGreaterThan(10);
    // An agent that was killed while it opened its socket leaves this.
    mkdirSync(join(world.dataDir, ".berth.s"));
    writeFileSync(join(world.dataDir, ".berth.s", "s"), "");
    const down = await world.berth("down");
    expect(down.code).toBe(0);
    for (const step of ["stop container main", "remove container main", "remove sandbox"]) {
      expect(down.stderr).toContain(step);
    }
    expect(down.stderr).toContain("no source wants");
    expect(leftovers()).toEqual([]);
    expect(wasStopped()).toBe(true);
    expect(existsSync(world.dataDir)).toBe(false);
    expect(readdirSync(world.manifests)).toEqual(["a.json", "b.json"]);
    expect((await world.berth("down")).code).toBe(0);
  });

  test("berth down leaves a folder alone that no agent has used", async () => {
    mkdirSync(world.dataDir, { recursive: true });
    const file = join(world.dataDir, "precious");
    writeFileSync(file, "");
    const down = await world.berth("down");
    expect(down.code).toBe(0);
    expect(down.stderr).toContain("nothing of an agent");
    expect(down.stderr).toContain("precious");
    expect(existsSync(file)).toBe(true);
  });

  test("berth down keeps what claims hold, and removes it when it is asked to, also later and not across a mount", async () => {
    await world.up();
    await world.agent.stop("SIGTERM");
    const volumes = join(world.dataDir, "volumes");
    const data = join(volumes, "default_data");
    mkdirSync(data, { recursive: true });
    writeFileSync(join(volumes, ".berth"), "");
    writeFileSync(join(data, "file"), "precious");
    expect((await world.berth("down")).code).toBe(0);
    expect(readdirSync(world.dataDir)).toEqual(["volumes"]);
    expect(readdirSync(data)).toEqual(["file"]);
    const mounted = join(data, "mounted");
    mkdirSync(mounted);
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", mounted]);
    try {
      const refused = await world.berth("down", "--volumes");
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain(`${mounted} is a mount point`);
      expect(readdirSync(data)).toEqual(["file", "mounted"]);
    } finally {
      execFileSync("umount", [mounted]);
    }
    expect((await world.berth("down", "--volumes")).code).toBe(0);
    expect(existsSync(world.dataDir)).toBe(false);
  });

  test("berth down ends an agent that still runs, and removes what it ran", async () => {
    await world.up();
    await startPods();
    const { code } = await world.berth("down");
    expect(code).toBe(0);
    expect((await world.agent.ended).code).toBe(0);
    expect(leftovers()).toEqual([]);
    const get = await world.berth("get", "pods");
    expect(get.code).toBe(3);
    expect(get.stderr).toContain("berth up");
  });

  test("berth up --down-on-exit removes everything when it is stopped", async () => {
    await world.up("--down-on-exit");
    await startPods();
    const { code } = await world.agent.stop("SIGTERM");
    expect(code).toBe(0);
    expect(leftovers()).toEqual([]);
    expect(wasStopped()).toBe(true);
    expect(existsSync(world.dataDir)).toBe(false);
  });
});

describe("the end of an agent on a runtime that it does not manage", () => {
  let runtime: RuntimeWorld;
  let world: AgentWorld;
  beforeEach(async () => {
    runtime = await startRuntimeWorld({ network: 11 });
    world = await AgentWorld.create(11, runtime.containerd.endpoint);
  });
  afterEach(async () => {
    await world.close();
    await runtime.close();
  });
  const guards = (): readonly string[] => {
    const filters = execFileSync("iptables", ["-w", "-S", "INPUT"], { encoding: "utf8" });
    return rulesOfDataDir(filters, world.dataDir);
  };

  test("berth down removes the rule that kept neighbours from the loopback address", async () => {
    await world.up();
    await expect
      .poll(guards)
      .toEqual([
        expect.stringMatching(/^-A INPUT ! -s 127\.0\.0\.0\/8 -d 127\.0\.0\.0\/8 .* -j DROP$/),
      ]);
    await world.agent.stop("SIGTERM");
    // The pods go on, and so does what protects the machine from their network.
    expect(guards()).toHaveLength(1);
    expect((await world.berth("down")).code).toBe(0);
    expect(guards()).toEqual([]);
  });
});

describe("the demo", () => {
  let machine: PrivateMachine;
  beforeEach(async () => {
    machine = await PrivateMachine.start();
  });
  afterEach(() => machine.close());

  test("shows every example pod as it is meant to be, and leaves nothing on the machine", async () => {
    const before = new Set(machine.traces());
    const root = join(import.meta.dirname, "../..");
    const demo = await machine.run(root, ["npm", "run", "demo", "--", "--until-ready"]);
    expect(demo).toMatchObject({ code: 0 });
    expect(demo.stdout).toMatch(/^web-\S+ +2\/2 +Running/m);
    expect(machine.traces().filter((trace) => !before.has(trace))).toEqual([]);
  });
});
