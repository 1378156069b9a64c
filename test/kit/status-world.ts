import { MemoryFiles } from "../../src/drivers/sim/memory-files.ts";
import { PodRegistry } from "../../src/engine/pods/pod-registry.ts";
import { PodStartMetrics } from "../../src/engine/pods/pod-start-metrics.ts";
import { PodTable } from "../../src/engine/pods/pod-table.ts";
import { ResizeStatuses } from "../../src/engine/resources/allocation/resize-statuses.ts";
import { PodStatuses, type PodStatusesDeps } from "../../src/engine/status/pod-statuses.ts";
import { StatusCheckpoints } from "../../src/engine/status/status-checkpoints.ts";
import { FlightRecorder } from "../../src/engine/view/flight-recorder.ts";
import { err } from "../../src/lib/result.ts";
import type { RuntimeHandler } from "../../src/model/generated/cri.ts";
import type { PodStatus } from "../../src/model/generated/kubernetes.ts";
import { podUid } from "../../src/model/ids.ts";
import { noMetrics } from "./no-metrics.ts";
import { testPodChanges } from "./pod-parts.ts";
import { silentLog } from "./silent-log.ts";
import { testHistory } from "./test-history.ts";
import { idleManagers } from "./test-managers.ts";

interface StatusWorldOptions extends Partial<Pick<PodStatusesDeps, "clock" | "log" | "metrics">> {
  readonly files?: MemoryFiles;
  /** What the runtime says of itself. */
  readonly handlers?: readonly RuntimeHandler[];
}

/** The store of statuses on real parts, of a node without probes; what a cluster would be sent is kept. */
export class StatusWorld {
  readonly table: PodTable = new PodTable();
  readonly registry: PodRegistry = new PodRegistry(this.table);
  readonly files: MemoryFiles;
  readonly checkpoints: StatusCheckpoints;
  readonly statuses: PodStatuses;
  readonly reported: { readonly status: PodStatus; readonly isFinished: boolean }[] = [];

  /** UIDs of pods of which nothing more is to be reported. */
  readonly ended: string[] = [];

  constructor(options: StatusWorldOptions = {}) {
    const { table, registry, reported } = this;
    const {
      clock = { nowMs: () => 0 },
      log = silentLog,
      metrics = noMetrics,
      handlers = [],
    } = options;
    this.files = options.files ?? new MemoryFiles();
    this.checkpoints = new StatusCheckpoints({
      table,
      files: this.files,
      folder: "/statuses",
      podsFolder: "/pods",
      log,
      changes: testPodChanges(table),
    });
    this.statuses = new PodStatuses({
      table,
      registry,
      clock,
      log,
      metrics,
      starts: new PodStartMetrics(table, noMetrics, clock),
      cluster: {
        noteStatus: (_pod, status, isFinished) => void reported.push({ status, isFinished }),
        endLife: (uid) => void this.ended.push(uid),
      },
      checkpoints: this.checkpoints,
      inputs: {
        clock,
        table,
        agentStartedAtMs: 0,
        resizes: new ResizeStatuses(table, clock),
        cgroups: { inForce: () => undefined },
        node: { hostIps: [], primaryIpFamily: 4 },
        managers: idleManagers(),
        health: { handlers },
        objects: { runtimeClass: () => err({ code: "not-found", message: "no such class" }) },
        recorder: new FlightRecorder(table, testHistory(table)),
      },
    });
  }

  version(uid: string): number {
    return this.table.get(podUid(uid))?.status?.version ?? 0;
  }
}
