// What runtimes do to an agent.
import { expect, test } from "vitest";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import { pass, plainPod, quietNode, write } from "./scenario.ts";

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

test("one pod that the runtime cannot tell of delays no other (kubernetes #61117)", async () => {
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
