import { newHookHttp } from "../drivers/linux/hook-http.ts";
import { hostFiles } from "../drivers/linux/host-files.ts";
import { PodNames } from "../drivers/linux/pod-names.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import type { KillDeps } from "../engine/execute/kill-container.ts";
import { killPod, newSandboxStops } from "../engine/execute/kill-pod.ts";
import { restorePod } from "../engine/execute/restore-pod.ts";
import { failuresText } from "../engine/execute/step-report.ts";
import { readPod } from "../engine/observe/read-pod.ts";
import { listRuntime } from "../engine/observe/runtime-listing.ts";
import { MetricsRegistry } from "../lib/metrics-registry.ts";
import type { PodUid } from "../model/ids.ts";
import type { ContainerRuntime } from "../ports/container-runtime.ts";
import type { Log } from "../ports/log.ts";
import type { DataLayout } from "./data-layout.ts";

/** Stops the pods of a data folder, each within its own grace period, and removes them from the runtime. */
export async function endPods(
  runtime: ContainerRuntime,
  layout: DataLayout,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const ours = new Set(await hostFiles.list(`${layout.rootFolder}/pods`));
  const { pods } = await listRuntime(runtime, systemClock, signal);
  const uids = [...pods.keys()].filter((uid) => ours.has(uid));
  if (uids.length > 0) log.info("ending pods, each within its grace period", { pods: uids.length });
  const deps = {
    runtime,
    hookHttp: newHookHttp(new PodNames()),
    clock: systemClock,
    events: { record: () => undefined },
    log,
    // No agent is there to ask for them.
    metrics: new MetricsRegistry({}),
    sandboxStops: newSandboxStops(),
  };
  await Promise.all(uids.map((uid) => endPod(deps, uid, signal)));
}

async function endPod(
  deps: KillDeps & { readonly runtime: ContainerRuntime },
  uid: PodUid,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, clock, log } = deps;
  const observed = await readPod({ runtime, clock, runtimeName: "containerd" }, uid, signal);
  const pod = await restorePod(runtime, observed, signal);
  const because = "everything of this data folder is being removed";
  const reports = await killPod(deps, { pod, observed, because }, signal);
  const failures = failuresText(reports);
  if (failures !== undefined) log.warn("cannot stop a pod", { pod: observed.name, failures });
  for (const { id } of observed.sandboxes) await runtime.removePodSandbox(id, signal);
}
