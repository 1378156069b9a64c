import { describe, expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { Container } from "../../model/generated/kubernetes.ts";
import { containerId, podUid, runtimeContainerId } from "../../model/ids.ts";
import { podUidLabel } from "../../model/labels.ts";
import type { ProbeKind } from "../../model/probe.ts";
import { MemoryFiles } from "./memory-files.ts";
import { parsePodScript } from "./pod-script.ts";
import { ScriptedRuntime } from "./scripted-runtime.ts";
import { scriptedHookHttp, scriptedProbeRunner } from "./scripted-world.ts";

const { signal } = new AbortController();
const hook = { exec: { command: ["hook"] } };
const request = { httpGet: { port: 80 } };
const main: Container = {
  name: "main",
  image: "app",
  livenessProbe: request,
  lifecycle: { postStart: hook, preStop: hook },
};

/** A pod with a script in its sandbox; its containers are started one after the other. */
async function world(annotations: Readonly<Record<string, string>>, container = main) {
  const clock = new VirtualClock();
  const files = new MemoryFiles();
  const runtime = new ScriptedRuntime({ clock, files });
  const plain = testPod({ initContainers: [{ name: "init" }], containers: [container] });
  const pod = { ...plain, metadata: { ...plain.metadata, annotations } };
  const script = parsePodScript(pod);
  if (!script.ok) throw new Error(JSON.stringify(script.error));
  runtime.setScript(pod, script.value);
  const { name, namespace, uid } = pod.metadata;
  const sandbox = { metadata: { name, namespace, uid, attempt: 0 }, logDirectory: "/logs" };
  const sandboxId = await runtime.runPodSandbox(sandbox, "", signal);
  const start = async (container = "main", attempt = 0): Promise<string> => {
    const config = {
      metadata: { name: container, attempt },
      labels: { [podUidLabel]: uid },
      logPath: `${container}/${attempt}.log`,
    };
    const id = await runtime.createContainer(sandboxId, config, sandbox, signal);
    await runtime.startContainer(id, signal);
    return id;
  };
  const statusOf = async (id: string) =>
    (await runtime.containerStatus(runtimeContainerId(id), signal)).status;
  return { clock, files, runtime, pod, sandbox, start, statusOf };
}

test("each run of a container follows its script, and its log shows it", async () => {
  const { clock, files, start, statusOf } = await world({
    "sim.berth.dev/main": "run 5s, exit 3; run 1s, oom",
  });
  const first = await start();
  await clock.advance(4999);
  expect(await statusOf(first)).toMatchObject({ exitCode: 0, reason: "" });
  await clock.advance(1);
  expect(await statusOf(first)).toMatchObject({ exitCode: 3, reason: "Error" });
  for (const attempt of [1, 2]) {
    const later = await start("main", attempt);
    await clock.advance(1000);
    expect(await statusOf(later)).toMatchObject({ exitCode: 137, reason: "OOMKilled" });
  }
  const lines = (await files.readText("/logs/main/0.log"))?.trim().split("\n") ?? [];
  expect(lines.map((line) => line.split(" F ")[1])).toEqual([
    "run 1: run 5s, exit 3",
    "ends with exit code 3 (Error)",
  ]);
});

test("without a script an init container ends well, any other runs until it is stopped", async () => {
  const { clock, runtime, start, statusOf } = await world({});
  const [init, regular] = [await start("init"), await start("main")];
  await clock.advance(3_600_000);
  expect(await statusOf(init)).toMatchObject({ reason: "Completed" });
  expect(await statusOf(regular)).toMatchObject({ reason: "" });
  await runtime.stopContainer(runtimeContainerId(regular), 30, signal);
  expect(await statusOf(regular)).toMatchObject({ exitCode: 143 });
});

test("probes find what the script says, counted from the start of each run", async () => {
  const { clock, runtime, pod, start } = await world({
    "sim.berth.dev/main.liveness": "ok 10s, fail 5s, hang; ok",
  });
  const runner = scriptedProbeRunner(runtime, clock);
  const probe = async (id: string, kind: ProbeKind = "liveness") => {
    const subject = { kind, probe: { ...request, timeoutSeconds: 2 }, pod, container: main };
    const found = runner.run(
      { ...subject, status: {}, containerId: containerId(`sim://${id}`) },
      signal,
    );
    return (await clock.run(found)).result;
  };
  const first = await start();
  expect(await probe(first)).toBe("success");
  await clock.advance(10_000);
  expect(await probe(first)).toBe("failure");
  expect(await probe(first, "readiness")).toBe("success");
  await clock.advance(5000);
  const sinceMs = clock.nowMs();
  expect(await probe(first)).toBe("failure");
  expect(clock.nowMs() - sinceMs).toBe(2000);
  const second = await start("main", 1);
  await clock.advance(60_000);
  expect(await probe(second)).toBe("success");
  await runtime.stopContainer(runtimeContainerId(second), 0, signal);
  expect(await probe(second)).toBe("error");
});

describe("hooks", () => {
  const annotations = {
    "sim.berth.dev/main.postStart": "take 3s, fail",
    "sim.berth.dev/main.preStop": "take 7s",
  };

  test("that are commands take their time and fail, also when both are the same command", async () => {
    const { clock, runtime, start } = await world(annotations);
    const id = await start();
    const run = () => clock.run(runtime.execSync(runtimeContainerId(id), ["hook"], 0, signal));
    const startMs = clock.nowMs();
    expect(await run()).toMatchObject({ exitCode: 1 });
    expect(clock.nowMs() - startMs).toBe(3000);
    expect(await run()).toMatchObject({ exitCode: 0 });
    expect(clock.nowMs() - startMs).toBe(10_000);
  });

  test("that are requests do so too", async () => {
    const container = {
      ...main,
      lifecycle: { postStart: request, preStop: { httpGet: { port: 1 } } },
    };
    const { clock, runtime, start } = await world(annotations, container);
    await start();
    const ip = runtime.sandboxes[0]?.ip ?? "";
    const http = scriptedHookHttp(runtime, clock, "10.0.0.1");
    const startMs = clock.nowMs();
    const get = (action: { readonly port: number }) =>
      clock.run(http.get(action, { podUid: podUid("1"), container, podIp: ip }, signal));
    await expect(get(container.lifecycle.postStart.httpGet)).rejects.toThrow("its script says so");
    expect(clock.nowMs() - startMs).toBe(3000);
    await get(container.lifecycle.preStop.httpGet);
    expect(clock.nowMs() - startMs).toBe(10_000);
  });
});

test("pulls of an image go as the script of its container says", async () => {
  const { clock, runtime, sandbox } = await world({
    "sim.berth.dev/main.pull": "take 2s, fail; ok",
  });
  const pull = () =>
    clock.run(runtime.pullImage({ image: "app:latest" }, undefined, sandbox, signal));
  const startMs = clock.nowMs();
  await expect(pull()).rejects.toThrow("its script says so");
  expect(clock.nowMs() - startMs).toBe(2000);
  expect(await pull()).toMatch(/^sha256:/);
});
