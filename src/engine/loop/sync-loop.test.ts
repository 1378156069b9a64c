import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { testPodChanges } from "../../../test/kit/pod-parts.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { Pod } from "../../model/pod.ts";
import { SourceReadiness } from "../intake/source-readiness.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodStartMetrics } from "../pods/pod-start-metrics.ts";
import { PodTable } from "../pods/pod-table.ts";
import { SyncLoop } from "./sync-loop.ts";
import { WorkQueue } from "./work-queue.ts";

function version(index: number): Pod {
  const metadata = { name: "a", namespace: "ns", uid: "1", generation: index };
  return buildPod({ metadata, spec: { containers: [] } });
}

test("updates that come while the runtime is away become few, and the newest counts", async () => {
  const clock = new VirtualClock();
  const table = new PodTable();
  const registry = new PodRegistry(table);
  const quiet = (): undefined => undefined;
  let problem: string | undefined = "away";
  let updates = 0;
  const loop = new SyncLoop({
    registry,
    sources: new SourceReadiness([]),
    workers: {
      updatePod: () => void updates++,
      stateOf: quiet,
      isPodTerminationRequested: () => false,
    } as never,
    queue: new WorkQueue(clock),
    clock,
    log: silentLog,
    faults: loudFaults,
    admit: () => true,
    runtimeProblem: () => problem,
    housekeep: () => Promise.resolve(),
    whenClean: quiet,
    allocations: { noteAdded: quiet, noteUpdated: quiet, noteStatus: quiet, noteRemoved: quiet },
    starts: new PodStartMetrics(table, noMetrics, clock),
    changes: testPodChanges(table),
    cluster: undefined,
  });
  const stop = new AbortController();
  const running = loop.run(stop.signal);
  loop.deliver({ op: "ADD", source: "file", pods: [version(0)] });
  for (let index = 1; index <= 50_000; index += 1) {
    loop.deliver({ op: "UPDATE", source: "file", pods: [version(index)] });
  }
  problem = undefined;
  await clock.advance(10_000);
  expect(registry.get("1")?.metadata.generation).toBe(50_000);
  expect(updates).toBeLessThanOrEqual(1_001);
  stop.abort();
  await clock.advance(1);
  await running;
});
