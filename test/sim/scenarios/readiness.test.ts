// Readiness across restarts of the agent.
import { expect, test } from "vitest";
import { isReady, pass, plainPod, quietNode, write } from "./scenario.ts";

const probe = (exitCode: string) => ({
  exec: { command: ["exit", exitCode] },
  periodSeconds: 10,
  failureThreshold: 100,
});

/** What is shown of readiness at every tenth of a second of the agent's first seconds. */
async function seenAfterRestart(container: Parameters<typeof plainPod>[1]) {
  const sim = quietNode();
  write(sim, "web", plainPod("web", container));
  await pass(sim, 40_000);
  const before = isReady(sim, "web");
  sim.killAgent("with nothing to do", 500);
  const seen = new Set<boolean>();
  for (let tick = 0; tick < 200; tick += 1) {
    await pass(sim, 100);
    if (sim.shownPods().length > 0) seen.add(isReady(sim, "web"));
  }
  return { before, seen: [...seen] };
}

test("a ready pod stays ready when the agent restarts (kubernetes #100277)", async () => {
  const { before, seen } = await seenAfterRestart({ readinessProbe: probe("0") });
  expect(before).toBe(true);
  expect(seen).toEqual([true]);
});

test("an unready pod does not become ready for a moment when the agent restarts (kubernetes #135795)", async () => {
  const { before, seen } = await seenAfterRestart({ readinessProbe: probe("1") });
  expect(before).toBe(false);
  expect(seen).toEqual([false]);
});

test("a pod that still starts does not become ready when the agent restarts (kubernetes #142305)", async () => {
  const { before, seen } = await seenAfterRestart({ startupProbe: probe("1") });
  expect(before).toBe(false);
  expect(seen).toEqual([false]);
});
