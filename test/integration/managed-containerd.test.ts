import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ManagedContainerd } from "../../src/drivers/containerd/managed-containerd.ts";
import { createCriRuntime } from "../../src/drivers/cri/cri-runtime.ts";
import { lockDataDir } from "../../src/drivers/linux/data-dir-lock.ts";
import { readMachine } from "../../src/drivers/linux/read-machine.ts";
import { ContainerState } from "../../src/model/generated/cri.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Machine } from "../../src/model/machine.ts";
import { silentLog } from "../kit/silent-log.ts";
import { findLeftovers } from "./support/leftovers.ts";
import {
  closeDataDir,
  prepareImages,
  type RuntimeWorld,
  runPod,
  startContainerd,
  startRuntimeWorld,
  worldOptions,
} from "./support/runtime-world.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const FOREVER = ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"];
const signal = (): AbortSignal => AbortSignal.timeout(60_000);

describe("a running containerd", () => {
  let world: RuntimeWorld;
  beforeAll(async () => {
    world = await startRuntimeWorld({ network: 10 });
  });
  afterAll(() => world.close());

  test("is started again when it was killed, and containers do not notice", async () => {
    const pod = await world.runPod({ name: "survivor", command: FOREVER });
    const containerPid = await readPid(world, pod.containerId);
    const killed = world.containerd.pid;
    process.kill(killed, "SIGKILL");
    await expect.poll(() => world.containerd.pid, { timeout: 60_000 }).not.toBe(killed);
    const state = () =>
      world.runtime
        .containerStatus(runtimeContainerId(pod.containerId), signal())
        .then(({ status }) => status?.state, String);
    await expect.poll(state, { timeout: 60_000 }).toBe(ContainerState.CONTAINER_RUNNING);
    expect(await readPid(world, pod.containerId)).toBe(containerPid);
    expect(
      await world.runtime.execSync(runtimeContainerId(pod.containerId), ["true"], 60, signal()),
    ).toMatchObject({
      exitCode: 0,
    });
    await world.removePod(pod.sandboxId);
  });

  test("serves a pod's port on the host", async () => {
    const command = ["sh", "-c", "echo hello > /tmp/index.html; exec httpd -f -p 80 -h /tmp"];
    const pod = await world.runPod({ name: "web", command, hostPort: 18_910 });
    await expect.poll(() => httpGet(18_910), { timeout: 60_000 }).toContain("hello");
    await world.removePod(pod.sandboxId);
  });
});

describe("a data folder", () => {
  test("keeps its containerd over the agent's end, and leaves nothing when torn down", async () => {
    const lock = await lockDataDir(makeTestFolder("test"));
    const options = worldOptions(lock.path, 11);
    const first = await startContainerd(options);
    const runtime = createCriRuntime(first.endpoint);
    await prepareImages(first, runtime);
    const pod = { name: "kept", command: FOREVER, hostPort: 18_911 };
    const { containerId } = await runPod(runtime, options, pod);
    await first.detach();

    const second = await startContainerd(options);
    expect(second.pid).toBe(first.pid);
    const status = await runtime.containerStatus(runtimeContainerId(containerId), signal());
    expect(status.status?.state).toBe(ContainerState.CONTAINER_RUNNING);

    process.kill(second.pid, "SIGKILL");
    await expect.poll(() => second.pid, { timeout: 60_000 }).not.toBe(first.pid);
    await second.stop();
    expect(existsSync(`/proc/${second.pid}/cwd`)).toBe(false);
    expect(findLeftovers(options).filter((line) => line.startsWith("process"))).not.toEqual([]);

    const third = await startContainerd(options);
    expect(third.pid).not.toBe(first.pid);
    await third.teardown();
    runtime.close();
    await closeDataDir(lock, options);
  });

  test("loses what a killed containerd had begun, and nothing else", async () => {
    const lock = await lockDataDir(makeTestFolder("test"));
    const options = worldOptions(lock.path, 15);
    const first = await startContainerd(options);
    const runtime = createCriRuntime(first.endpoint);
    await prepareImages(first, runtime);
    const kept = await runPod(runtime, options, { name: "kept", command: FOREVER });
    const lost = await runPod(runtime, options, { name: "lost", command: FOREVER });
    await first.stop();
    // As if it had been killed before it wrote any of it down.
    const { state, ipamFolder } = first.paths;
    for (const id of [lost.containerId, lost.sandboxId]) {
      rmSync(`${state}/io.containerd.runtime.v2.task/k8s.io/${id}/address`);
    }
    const namespaces = `${state}/io.containerd.grpc.v1.cri/netns`;
    const namespace = `${namespaces}/cni-00000000`;
    writeFileSync(namespace, "");
    execFileSync("mount", ["--bind", "/proc/self/ns/net", namespace]);
    const addresses = `${ipamFolder}/${options.bridge}`;
    writeFileSync(`${addresses}/10.99.15.200`, `${"0".repeat(64)}\r\neth0`);

    const second = await startContainerd(options);
    const shimOf = (id: string): boolean =>
      findLeftovers(options).some((line) => /^process .*shim/.test(line) && line.includes(id));
    await expect.poll(() => shimOf(lost.sandboxId)).toBe(false);
    await expect.poll(() => readdirSync(namespaces)).not.toContain("cni-00000000");
    await expect.poll(() => readdirSync(addresses)).not.toContain("10.99.15.200");
    expect(shimOf(kept.sandboxId)).toBe(true);
    expect(readdirSync(namespaces)).toHaveLength(2);
    expect(readdirSync(addresses).filter((name) => name.startsWith("10."))).toHaveLength(2);
    const probe = await runtime.execSync(
      runtimeContainerId(kept.containerId),
      ["true"],
      30,
      signal(),
    );
    expect(probe).toMatchObject({ exitCode: 0 });
    await second.teardown();
    runtime.close();
    await closeDataDir(lock, options);
  });

  test("belongs to one agent at a time", async () => {
    const folder = makeTestFolder("test");
    const lock = await lockDataDir(folder);
    await expect(lockDataDir(`${folder}/../${folder.split("/").at(-1)}`)).rejects.toThrow(
      `in use by the agent with pid ${process.pid}`,
    );
    await lock.release();
    await (await lockDataDir(folder)).release();
    rmSync(folder, { recursive: true });
  });

  test("stays with the network it was made for", async () => {
    const lock = await lockDataDir(makeTestFolder("test"));
    const options = worldOptions(lock.path, 12);
    const containerd = await startContainerd(options);
    await containerd.detach();
    await expect(startContainerd({ ...options, bridge: "berth-t13" })).rejects.toThrow(
      "made for the network berth-t12 10.99.12.0/24",
    );
    await (await startContainerd(options)).teardown();
    await closeDataDir(lock, options);
  });
});

describe("what cannot work is refused with what to do", () => {
  const machine = readMachine();
  const cases: readonly { what: string; given: Partial<Machine>; says: string }[] = [
    { what: "not root", given: { isRoot: false }, says: "needs root" },
    {
      what: "no runc",
      given: { tools: { containerd: "/usr/bin/containerd", ctr: "/usr/bin/ctr" } },
      says: "runc is not installed: install the package runc",
    },
    {
      what: "no containerd",
      given: { tools: {} },
      says: "containerd is not installed: install the package containerd",
    },
    {
      what: "no CNI plugins",
      given: { cni: { searched: ["/opt/cni/bin"], folder: undefined, missing: ["bridge"] } },
      says: "the CNI plugins bridge are not in /opt/cni/bin: install",
    },
    { what: "no capability", given: { capabilities: 0n }, says: "CAP_SYS_ADMIN is missing" },
  ];
  test.each(cases)("$what", async ({ given, says }) => {
    const start = startWith({}, { ...machine, ...given });
    await expect(start).rejects.toThrow(says);
  });

  test.each([
    { what: "a bridge that is there", given: { bridge: "eth0" }, says: "eth0 exists already" },
    { what: "a bad bridge name", given: { bridge: "no spaces" }, says: "bridge name" },
    { what: "a bad subnet", given: { subnet: "10.0.0.0/33" }, says: 'subnet "10.0.0.0/33"' },
    { what: "a host's address", given: { subnet: "10.0.0.1/24" }, says: "outside of its mask" },
  ])("$what", async ({ given, says }) => {
    if (given.bridge === "eth0" && !existsSync("/sys/class/net/eth0")) return;
    await expect(startWith(given, machine)).rejects.toThrow(says);
  });

  test("a data folder too deep for a socket", async () => {
    const start = startWith({ dataDir: `/var/tmp/${"x".repeat(90)}` }, machine);
    await expect(start).rejects.toThrow(/bytes, Linux allows 107/);
  });

  test("a containerd that cannot start says why, from its log", async () => {
    const lock = await lockDataDir(makeTestFolder("test"));
    const options = worldOptions(lock.path, 14);
    // containerd wants a folder there.
    await mkdir(`${lock.path}/containerd/root/io.containerd.metadata.v1.bolt/meta.db`, {
      recursive: true,
    });
    await expect(startContainerd(options)).rejects.toThrow(/its log says: .*meta\.db/s);
    expect(findLeftovers(options)).toEqual([]);
    await closeDataDir(lock, options);
  });
});

async function startWith(
  given: Partial<ReturnType<typeof worldOptions>>,
  machine: Machine,
): Promise<void> {
  const folder = makeTestFolder("test");
  try {
    const options = { ...worldOptions(folder, 13), ...given };
    const containerd = await ManagedContainerd.start(options, machine, silentLog, signal());
    await containerd.teardown();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The process id that the host knows the container's first process by. */
async function readPid(world: RuntimeWorld, containerId: string): Promise<number> {
  const file = `${world.containerd.paths.runcRoot}/k8s.io/${containerId}/state.json`;
  const state: unknown = JSON.parse(await readFile(file, "utf8"));
  const { init_process_pid: pid } = state as { readonly init_process_pid: number };
  readFileSync(`/proc/${pid}/stat`);
  return pid;
}

function httpGet(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (data) => (text += data.toString()));
    socket.on("close", () => resolve(text));
    socket.on("error", (error) => resolve(error.message));
    socket.write("GET / HTTP/1.0\r\n\r\n");
  });
}
