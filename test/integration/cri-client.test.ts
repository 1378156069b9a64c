import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createContainerdEvents } from "../../src/drivers/containerd/containerd-events.ts";
import { createCriEvents } from "../../src/drivers/cri/cri-events.ts";
import { createCriRuntime } from "../../src/drivers/cri/cri-runtime.ts";
import type { GrpcCall } from "../../src/drivers/grpc/grpc-connection.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import { RuntimeError } from "../../src/model/runtime-error.ts";
import type { RuntimeEvent, RuntimeEvents } from "../../src/ports/runtime-events.ts";
import { runtimeContract } from "../contract/runtime-contract.ts";
import { BUSYBOX, busyboxPrograms } from "./support/busybox.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";

const signal = (): AbortSignal => AbortSignal.timeout(60_000);

describe("a managed containerd", () => {
  runtimeContract(async () => {
    const world = await startRuntimeWorld({ network: 1 });
    return {
      runtime: world.runtime,
      image: BUSYBOX,
      programs: busyboxPrograms,
      cgroupParent: world.cgroupRoot,
      logDirectory: `${world.dataDir}/logs`,
      close: () => world.close(),
    };
  });
});

describe("the client", () => {
  const calls: GrpcCall[] = [];
  let world: RuntimeWorld;
  beforeAll(async () => {
    world = await startRuntimeWorld({ network: 2, onCall: (call) => calls.push(call) });
  });
  afterAll(() => world.close());

  test("notifies its observer of every call, with its request, deadline and outcome", async () => {
    const { runtime } = world;
    calls.length = 0;
    await runtime.version(signal());
    await runtime.stopContainer(runtimeContainerId("absent"), 7, signal()).catch(() => undefined);
    await runtime.containerStatus(runtimeContainerId("absent"), signal()).catch(() => undefined);
    await runtime
      .pullImage({ image: "invalid image" }, undefined, undefined, signal())
      .catch(() => undefined);
    expect(calls.map(({ method, timeoutMs }) => [method, timeoutMs])).toEqual([
      ["Version", 120_000],
      ["StopContainer", 127_000],
      ["ContainerStatus", 120_000],
      ["PullImage", undefined],
    ]);
    expect(calls[2]).toMatchObject({
      request: { containerId: "absent" },
      error: { code: "NotFound" },
    });
    expect(calls[0]).toMatchObject({ response: { runtimeName: "containerd" } });
  });

  test("writes a container's output where its config says", async () => {
    const { runtime } = world;
    const pod = await world.runPod({
      name: "logs",
      command: ["sh", "-c", "echo out; echo err >&2; exec sleep 60"],
    });
    const path = `${world.dataDir}/logs/logs/main/0.log`;
    const lines = (): string => (existsSync(path) ? readFileSync(path, "utf8") : "");
    await expect.poll(lines, { timeout: 60_000 }).toMatch(/ stdout F out\n/);
    await expect.poll(lines, { timeout: 60_000 }).toMatch(/ stderr F err\n/);
    await runtime.reopenContainerLog(runtimeContainerId(pod.containerId), signal());
    await world.removePod(pod.sandboxId);
  });

  test("receives every change by containerd's events, and no commands in containers", async () => {
    const received = await listen(createContainerdEvents(world.runtime));
    const pod = await world.runPod({ name: "events", command: ["sleep", "60"] });
    await world.runtime.execSync(runtimeContainerId(pod.containerId), ["true"], 60, signal());
    await world.runtime.stopContainer(runtimeContainerId(pod.containerId), 0, signal());
    await world.runtime.removeContainer(runtimeContainerId(pod.containerId), signal());
    await expect.poll(() => received.kinds(pod.containerId)).toContain("deleted");
    expect(received.kinds(pod.containerId)).toEqual([
      "created",
      "started",
      "stopped",
      "stopped",
      "deleted",
    ]);
    await world.removePod(pod.sandboxId);
    await expect.poll(() => received.kinds(pod.sandboxId)).toContain("deleted");
    await received.close();
  });

  test("either receives CRI events or says that the runtime has none to rely on", async () => {
    const { runtimeVersion = "" } = await world.runtime.version(signal());
    const stop = new AbortController();
    const outcomes: string[] = [];
    const subscribed = (): void => {
      outcomes.push("subscribed");
      stop.abort();
    };
    await createCriEvents(world.runtime)
      .subscribe(subscribed, () => undefined, stop.signal)
      .catch((error: unknown) => outcomes.push(error instanceof RuntimeError ? error.code : "?"));
    const hasEvents = !/^v?1\./.test(runtimeVersion);
    expect(outcomes).toEqual([hasEvents ? "subscribed" : "Unimplemented"]);
  });

  test("works again right after the runtime was restarted, and streams end", async () => {
    const received = await listen(createContainerdEvents(world.runtime));
    const { pid } = world.containerd;
    process.kill(pid, "SIGKILL");
    await expect(received.ended).rejects.toMatchObject({ code: "Unavailable" });
    await expect.poll(() => world.containerd.pid, { timeout: 60_000 }).not.toBe(pid);
    const version = () =>
      world.runtime.version(signal()).then(({ runtimeName }) => runtimeName, String);
    await expect.poll(version, { timeout: 60_000, interval: 20 }).toBe("containerd");
  });

  test("says that nothing listens, naming the socket", async () => {
    const absent = createCriRuntime(`unix://${world.dataDir}/absent.sock`);
    await expect(absent.version(signal())).rejects.toMatchObject({
      code: "Unavailable",
      message: expect.stringContaining("absent.sock"),
    });
    absent.close();
  });
});

interface Received {
  kinds(id: string): readonly RuntimeEvent["kind"][];
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

async function listen(events: RuntimeEvents): Promise<Received> {
  const seen: RuntimeEvent[] = [];
  const stop = new AbortController();
  let ended: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    ended = events.subscribe(resolve, (event) => seen.push(event), stop.signal);
    ended.catch(reject);
  });
  return {
    kinds: (id) => seen.filter((one) => one.containerId === id).map((one) => one.kind),
    ended,
    close: async () => {
      stop.abort();
      await ended;
    },
  };
}
