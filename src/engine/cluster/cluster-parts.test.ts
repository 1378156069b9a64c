import { afterEach, expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { testHistory } from "../../../test/kit/test-history.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { settle, VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { Wakeups } from "../agent/wakeups.ts";
import { SourceReadiness } from "../intake/source-readiness.ts";
import { NodeAttachments, NodeVolumes } from "../node/node-volumes.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { WorkerStates } from "../pods/worker-states.ts";
import { ClusterParts } from "./cluster-parts.ts";
import { EventSender } from "./event-sender.ts";

const nodePath = "/api/v1/nodes/node-a";
const stop = new AbortController();
let running = Promise.resolve();
afterEach(async () => {
  stop.abort();
  await running;
});

test("what controllers attach is known at once, from the watch and from answers to reports", async () => {
  const clock = new VirtualClock();
  const api = new MemoryApi(() => clock.nowMs());
  const table = new PodTable();
  const looks: string[] = [];
  const wakeups = new Wakeups();
  const nothing = (): void => undefined;
  wakeups.connect({
    loop: {
      requestSync: nothing,
      requestHousekeeping: nothing,
      askToStart: nothing,
      wake: nothing,
      resume: nothing,
    },
    reader: { requestRead: nothing, readWhenQuiet: nothing },
    allocations: { noteEnded: nothing },
    nodeAgent: undefined,
    storage: {
      retryPod: nothing,
      retryDriver: nothing,
      requestLook: () => void looks.push([...(attachments.attached ?? [])].join(" ")),
    },
    csiAllocatable: undefined,
    cpuReconciler: { requestLook: nothing },
  });
  const podEvents = { record: nothing };
  const ports = { api, clock, random: () => 0.5, log: silentLog, metrics: noMetrics, podEvents };
  const names = { nodeName: "node-a", uniqueName: () => "unique" };
  const cluster = new ClusterParts({
    ports,
    settings: {
      identity: {
        ...names,
        version: "",
        runtimeName: "",
        runtimeVersion: "",
        runtimeEndpoint: "",
      },
    },
    registry: new PodRegistry(table),
    faults: loudFaults,
    events: new EventSender({
      ...ports,
      ...names,
      perSecond: 50,
      burst: 100,
      history: testHistory(),
    }),
    states: new WorkerStates(table),
    sources: new SourceReadiness([]),
    table,
    wakeups,
    lifetime: stop.signal,
  });
  const reported: (readonly string[])[] = [];
  const attachments = new NodeAttachments(cluster, true);
  const volumes = new NodeVolumes({
    cluster,
    storage: {
      volumesInUse: () => ["csi^a"],
      isReportAwaited: false,
      noteReportedInUse: (inUse) => void reported.push(inUse),
    },
    wakeups,
  });
  expect(attachments.attached).toBeUndefined();
  running = cluster.run(stop.signal);
  const attach = (...attached: readonly string[]) => ({
    status: {
      volumesAttached: attached.map((name) => ({ name, devicePath: `/dev/${name}` })),
    },
  });
  api.put(nodePath, attach());
  await settle();
  api.put(nodePath, attach("a"));
  await settle();
  // Nothing of interest.
  api.put(nodePath, { ...attach("a"), metadata: { labels: { x: "y" } } });
  await settle();
  // The first two: all CSIDriver objects were listed, and the node.
  expect(looks).toEqual(["", "", "a,/dev/a"]);
  expect(volumes.isReportUrgent).toBe(true);
  const { metadata, ...rest } = api.get(nodePath) ?? {};
  const answered = {
    metadata: { ...metadata, resourceVersion: "1000" },
    ...rest,
    status: { volumesInUse: ["csi^a"], volumesAttached: [] },
  };
  cluster.noteAnswered(answered);
  volumes.noteReported(answered);
  expect(volumes.isReportUrgent).toBe(false);
  expect(reported).toEqual([["csi^a"]]);
  expect(looks).toEqual(["", "", "a,/dev/a", ""]);
});
