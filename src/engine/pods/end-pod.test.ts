import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { PodWorld } from "../../../test/sim/pod-world.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { syncTerminatedPod, syncTerminatingPod, syncTerminatingRuntimePod } from "./end-pod.ts";

const { signal } = new AbortController();

async function runningWorld(): Promise<PodWorld> {
  const world = new PodWorld(testPod({ containers: [{ name: "web" }] }));
  await world.sync();
  world.calls.length = 0;
  world.takeRuntimeCalls();
  return world;
}

async function terminate(
  world: PodWorld,
  graceSeconds?: number,
  cancel: AbortSignal = signal,
): Promise<void> {
  const { pod, progress, executor } = world;
  await executor.clock.advance(1000);
  const observed = await executor.read(pod);
  const request = { pod, observed, graceSeconds, killReason: undefined, progress };
  await executor.clock.run(syncTerminatingPod(world.endDeps, request, cancel));
}

test("a pod that ends is stopped with its leftovers, and its status says how it ended", async () => {
  const world = await runningWorld();
  await world.addLeftover(7);
  await terminate(world, 5);
  expect(world.takeRuntimeCalls()).toEqual(["StopContainer", "StopPodSandbox", "StopPodSandbox"]);
  expect(world.calls).toEqual(["stopping", "changed"]);
  expect(world.steps[0]).toMatchObject({
    action: "stop container web",
    because: "the pod is ending, with 5 s of grace",
    outcome: "done",
  });
  expect(world.status.containerStatuses?.[0]?.state?.terminated).toBeDefined();
});

test("how a pod was ended is recorded with what it was decided from", async () => {
  const world = await runningWorld();
  await terminate(world);
  const decisions = world.endDeps.recorder.decisions(world.pod.metadata.uid);
  expect(decisions.find(({ kind }) => kind === "termination")).toMatchObject({
    input: { isWanted: true },
    outcome: { steps: [{ kind: "kill-pod" }] },
  });
});

test("a pod that cannot be stopped has not ended, and why and an event name the failure", async () => {
  const world = await runningWorld();
  world.executor.runtime.intercept = (method) => {
    if (method === "StopContainer") throw new RuntimeError(method, "Unknown", "the shim hangs");
  };
  await expect(terminate(world)).rejects.toThrow("error killing pod");
  expect(world.steps[0]).toMatchObject({ action: "stop container web", outcome: "failed" });
  expect(world.executor.events.at(-1)).toMatchObject({ reason: "FailedKillPod" });
});

test("a termination that is cancelled leaves a record of what it stopped and what it did not", async () => {
  const world = await runningWorld();
  const cancel = new AbortController();
  world.executor.runtime.intercept = (method, phase) => {
    if (method === "StopPodSandbox" && phase === "before") {
      cancel.abort(new Error("shorter grace"));
      throw new Error("cut short");
    }
  };
  await expect(terminate(world, 5, cancel.signal)).rejects.toThrow("shorter grace");
  expect(world.newestRecord).toMatchObject({ kind: "terminating", cancelled: "shorter grace" });
  expect(world.steps).toMatchObject([
    { action: "stop container web", outcome: "done" },
    { action: "stop sandbox of uid-1", outcome: "cancelled", detail: "cancelled: shorter grace" },
  ]);
});

test("a pod that only the runtime knows is stopped within a second, and that is recorded", async () => {
  const world = await runningWorld();
  const observed = await world.executor.read(world.pod);
  await world.executor.clock.run(syncTerminatingRuntimePod(world.endDeps, observed, signal));
  const [stop] = world.executor.runtime.calls;
  expect(stop).toMatchObject({ method: "StopContainer", timeoutSeconds: 2 });
  expect(world.steps[0]).toMatchObject({
    because: "no source wants this pod, with 1 s of grace",
    outcome: "done",
  });
});

test("a pod that has ended gives back what it held, and its status is final", async () => {
  const world = await runningWorld();
  await terminate(world);
  world.calls.length = 0;
  const observed = await world.executor.read(world.pod);
  await syncTerminatedPod(world.endDeps, { pod: world.pod, observed }, signal);
  expect(world.calls).toEqual(["release"]);
  expect(world.statuses.reported.at(-1)?.isFinished).toBe(true);
});
