import { type WaitReason, waitText } from "../../core/worker/start-gate.ts";
import { quoteText } from "../../lib/go-text.ts";
import { formatTime } from "../../lib/time.ts";
import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";
import { rawContainerId } from "../../model/ids.ts";
import type { Awaited } from "../../ports/agent-view.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PullProgress } from "../../ports/pull-progress.ts";
import type { ActivePull } from "../images/pod-images.ts";
import type { ManagedPod, Observation } from "../pods/pod-table.ts";

/** The status, in which containers that wait for an image and say nothing else say so. Reasons stay as they are. */
export function withPulls(status: PodStatus, pulls: readonly ActivePull[]): PodStatus {
  if (pulls.length === 0) return status;
  const shown = (statuses: readonly ContainerStatus[] | undefined) =>
    statuses?.map((container) => withPull(container, pulls));
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status;
  return {
    ...status,
    initContainerStatuses: shown(initContainerStatuses),
    containerStatuses: shown(containerStatuses),
    ephemeralContainerStatuses: shown(ephemeralContainerStatuses),
  };
}

/** The pulls as what a pod waits for. */
export function awaitedPulls(pulls: readonly ActivePull[]): readonly Awaited[] {
  return pulls.map((pull) => ({ what: `container ${pull.container}: ${pullText(pull)}` }));
}

function withPull(status: ContainerStatus, pulls: readonly ActivePull[]): ContainerStatus {
  const pull = pulls.find(({ container }) => container === status.name);
  const waiting = status.state?.waiting;
  if (pull === undefined || waiting === undefined || (waiting.message ?? "") !== "") return status;
  return { ...status, state: { waiting: { ...waiting, message: pullText(pull) } } };
}

function pullText({ image, sinceMs, isQueued, progress }: ActivePull): string {
  const state = isQueued ? "Waiting to pull" : "Pulling";
  const done = progress === undefined ? "" : `, ${progressText(progress)}`;
  return `${state} image ${quoteText(image)} since ${formatTime(sinceMs)}${done}`;
}

function progressText({ doneBytes, totalBytes }: PullProgress): string {
  const percent = Math.floor((100 * doneBytes) / Math.max(totalBytes, 1));
  return `${megabytes(doneBytes)} of ${megabytes(totalBytes)} MB (${percent}%)`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** The status of a Pending pod, which says in its message why the pod does not start. */
export function withWait(status: PodStatus, { worker, storage }: Partial<ManagedPod>): PodStatus {
  if (status.phase !== "Pending") return status;
  const waits = [...awaitedStart(worker?.waitsFor), ...awaitedVolumes(storage?.awaited)];
  if (waits.length === 0) return status;
  return { ...status, message: `Waiting for ${waits.map(({ what }) => what).join("; ")}` };
}

export function awaitedStart(reason: WaitReason | undefined): readonly Awaited[] {
  return reason === undefined ? [] : [{ what: waitText(reason) }];
}

/** What the end of a pod waits for, from the first stop to the removal of what it left. */
export function awaitedEnd(
  pod: ManagedPod | undefined,
  clock: Pick<Clock, "nowMs" | "monotonicMs">,
): readonly Awaited[] {
  const { worker, removal } = pod ?? {};
  switch (worker?.state.state) {
    case "terminating":
      return awaitedStops(pod?.observed, worker.state.graceSeconds);
    case "terminated":
      return [{ what: "the release of what the pod held: its volumes, devices and cgroup" }];
    case "wait-to-start":
    case "syncing":
      return [];
    case "finished":
    case undefined:
  }
  if (removal?.state === "running") return [{ what: "the removal of what the pod left" }];
  if (removal?.state !== "due" || removal.error === undefined) return [];
  const untilMs = clock.nowMs() + removal.atMs - clock.monotonicMs();
  return [{ what: `the next try to remove what the pod left: ${removal.error}`, untilMs }];
}

function awaitedStops(observation: Observation = {}, graceSeconds: number): readonly Awaited[] {
  const { state, exits } = observation;
  const running = (state?.containers ?? []).filter(
    ({ id, state: runs }) => runs === "running" && exits?.has(rawContainerId(id)) !== true,
  );
  if (running.length > 0) {
    const grace = `within the grace period of ${graceSeconds} s`;
    return running.map(({ name }) => ({ what: `container ${name} to end, ${grace}` }));
  }
  const isReady = (state?.sandboxes ?? []).some(({ state: shown }) => shown === "ready");
  if (isReady) return [{ what: "the runtime to stop the sandbox of the pod" }];
  const hasShownEnd = state?.containers.every(({ state: shown }) => shown !== "running") === true;
  return hasShownEnd
    ? [{ what: "the drivers of its claims to take them back" }]
    : [{ what: "the runtime to show that nothing of the pod runs" }];
}

/** Volumes by name, each with what is done about it or what it waits for. */
export function awaitedVolumes(
  volumes: ReadonlyMap<string, string> | undefined,
): readonly Awaited[] {
  return [...(volumes ?? [])].map(([name, reason]) => ({ what: `volume ${name}: ${reason}` }));
}
