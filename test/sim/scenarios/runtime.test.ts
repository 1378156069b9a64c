// What runtimes do to an agent.
import { expect, test } from "vitest";
import { OutlivedCall } from "../../../src/drivers/sim/sim-call-gate.ts";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import { leftovers, unconverged } from "../simulator/convergence.ts";
import { pass, plainPod, quietNode, write } from "./scenario.ts";

const signal = new AbortController().signal;

test.each(["CreateContainer", "RunPodSandbox"])(
  "a pod runs though the answer to %s came too late and its name is taken (containerd #4604)",
  async (method) => {
    const sim = quietNode();
    let lost = 0;
    sim.machine.runtime.intercept = (called, phase) => {
      if (called !== method || phase !== "after" || lost > 0) return;
      lost += 1;
      throw new RuntimeError(method, "DeadlineExceeded", "context deadline exceeded");
    };
    const pod = write(sim, "web", plainPod("web"));
    await pass(sim, 60_000);
    expect(lost).toBe(1);
    expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  },
);

test("an agent begins as soon as its runtime has answered", async () => {
  const sim = quietNode();
  write(sim, "web", plainPod("web"));
  await pass(sim, 50);
  expect(sim.changes[0]).toContain("runPodSandbox");
});

test("one pod that the runtime cannot report delays no other (kubernetes #61117)", async () => {
  const sim = quietNode();
  write(sim, "sick", plainPod("sick"));
  await pass(sim, 5_000);
  const [sick] = sim.machine.runtime.sandboxes;
  const read = sim.machine.runtime.podSandboxStatus.bind(sim.machine.runtime);
  sim.machine.runtime.podSandboxStatus = (id, signal) =>
    id === sick?.id ? new Promise<never>(() => undefined) : read(id, signal);
  const pod = write(sim, "web", plainPod("web"));
  await pass(sim, 5_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
});

test.each([
  ["RunPodSandbox", 240_000],
  ["CreateContainer", 120_000],
])(
  "a pod runs though a %s that was given up holds its name for long (containerd #12438)",
  async (method, deadlineMs) => {
    const sim = quietNode();
    let lost = 0;
    sim.machine.runtime.intercept = async (called, phase) => {
      if (called !== method || phase !== "before" || lost > 0) return;
      lost += 1;
      await sim.clock.sleep(deadlineMs, signal);
      const late = new RuntimeError(method, "DeadlineExceeded", "context deadline exceeded");
      throw new OutlivedCall(late, sim.clock.sleep(1_200_000, signal));
    };
    const pod = write(sim, "web", plainPod("web"));
    await pass(sim, deadlineMs - 10_000);
    expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual([]);
    await pass(sim, 40_000);
    expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
    // The call that timed out completes later, when its result is no longer wanted.
    await pass(sim, 1_300_000);
    expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
    expect(await unconverged(sim)).toEqual([]);
    sim.manifests.remove("web");
    await pass(sim, 60_000);
    expect(await leftovers(sim)).toEqual([]);
  },
);

test("an image that is pulled for long keeps no other pod from starting (kubernetes #108405)", async () => {
  const sim = quietNode();
  const { runtime } = sim.machine;
  const pull = runtime.pullImage.bind(runtime);
  runtime.pullImage = async (image, auth, config, given) => {
    if (image.image === "large:1") await sim.clock.sleep(600_000, given);
    return pull(image, auth, config, given);
  };
  const large = write(sim, "large", plainPod("large", { image: "large:1" }));
  await pass(sim, 2_000);
  const small = write(sim, "small", plainPod("small", { image: "small:1" }));
  await pass(sim, 5_000);
  expect(sim.invariants.namesOf(small.metadata.uid)).toEqual(["main"]);
  await pass(sim, 600_000);
  expect(sim.invariants.namesOf(large.metadata.uid)).toEqual(["main"]);
});
