// Readiness across restarts of the agent, and of containers.
import { expect, test } from "vitest";
import type { Pod } from "../../../src/model/pod.ts";
import type { ApiWorld } from "../simulator/api-world.ts";
import {
  create,
  isReady,
  isReadyPod,
  pass,
  plainContainer,
  plainPod,
  quietCluster,
  quietNode,
  write,
} from "./scenario.ts";

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

test("no client of the API server sees readiness change when the agent restarts (kubernetes #131303)", async () => {
  const { sim, cluster } = quietCluster();
  const containers = [
    plainContainer("main", { startupProbe: probe("0"), readinessProbe: probe("0") }),
    plainContainer("bare"),
  ];
  create(sim, cluster, plainPod("well", {}, { containers }));
  create(sim, cluster, plainPod("sick", { readinessProbe: probe("1") }));
  await pass(sim, 60_000);
  const seen = watchPods(cluster);
  for (const downMs of [0, 3_000, 30_000]) {
    sim.killAgent("with nothing to do", downMs);
    await pass(sim, downMs + 30_000);
  }
  const shown = seen.map((pod) => `${pod.metadata.name} ${isReadyPod(pod)}`);
  expect(new Set(shown)).toEqual(new Set(["well true", "sick false"]));
});

test("a restarted container is neither started nor ready before its startup probe has passed (kubernetes #136047, #141155)", async () => {
  const { sim, cluster } = quietCluster();
  const startupProbe = { ...probe("0"), initialDelaySeconds: 10 };
  const readinessProbe = { ...probe("0"), periodSeconds: 1 };
  create(sim, cluster, plainPod("web", { startupProbe, readinessProbe }));
  await pass(sim, 60_000);
  const seen = watchPods(cluster);
  sim.invariants.running[0]?.end(1);
  await pass(sim, 60_000);
  const restarted = seen
    .flatMap(({ status }) => status?.containerStatuses ?? [])
    .filter(({ restartCount, state }) => restartCount === 1 && state?.running !== undefined);
  // Reported when it runs, when it has started, and when it is ready: never ready before it has started.
  expect(restarted[0]).toMatchObject({ started: false, ready: false });
  expect(restarted.at(-1)).toMatchObject({ started: true, ready: true });
  expect(restarted.filter(({ started, ready }) => ready && started !== true)).toEqual([]);
});

/** Every state of pods that the API server shows from now on. */
function watchPods({ client }: ApiWorld): readonly Pod[] {
  const seen: Pod[] = [];
  const onEvent = ({ object }: { readonly object: Pod }): void => void seen.push(object);
  void client.watch<Pod>({ path: "/api/v1/pods" }, onEvent, new AbortController().signal);
  return seen;
}
