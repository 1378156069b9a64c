import { isEarlier } from "../../core/cluster/object-set.ts";
import {
  isDeletable,
  isMisreported,
  isUrgentChange,
  reportedStatus,
} from "../../core/status/reported-status.ts";
import { wireStatus } from "../../core/status/wire-status.ts";
import { isProgrammingError } from "../../lib/assert.ts";
import { Backoff } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { strategicMergePatch } from "../../lib/strategic-merge-patch.ts";
import { ApiError, isApiStatus } from "../../model/api-error.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import { type Pod, podFullName, podKey } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Faults } from "../agent/faults.ts";
import type { ApiPodSource } from "../cluster/api-pod-source.ts";
import { deleteAtOnce, podPath, unlessStatus } from "../cluster/pod-requests.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodReport, PodTable, SliceWriter, WantedStatus } from "../pods/pod-table.ts";
import type { WorkerStates } from "../pods/worker-states.ts";

const sendersAtOnce = 10;
const retryLimits = { initialMs: 500, maxMs: 10_000 };
const heldBackMs = 10_000;
/** Of a pod that others change at the same time. */
const attemptsInARow = 5;
const mergeKeys = { conditions: "type", podIPs: "ip", hostIPs: "ip" };

export interface StatusReporterDeps {
  readonly table: PodTable;
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "observe">;
  readonly faults: Pick<Faults, "note">;
  readonly registry: Pick<PodRegistry, "staticPod" | "mirrorOf">;
  /** The pods as the API server last showed them. */
  readonly source: Pick<ApiPodSource, "find">;
  readonly states: Pick<WorkerStates, "couldHaveRunningContainers">;
  readonly lifetime: AbortSignal;
}

const nothing: PodReport = {
  wanted: undefined,
  pending: undefined,
  isSending: false,
  answer: undefined,
  isDeleted: false,
};
const sending: PodReport = { ...nothing, isSending: true };

/**
 * Reports the status of every pod to the API server: the newest only, one request per pod at a time, urgent changes
 * first, again and again until they are delivered. Forgets nothing while the server is away.
 */
export class StatusReporter {
  readonly #deps: StatusReporterDeps;
  /** By the node's UID of a pod, which a static pod's mirror does not have. */
  readonly #reports: SliceWriter<"report">;
  /** UIDs of pods whose report is pending, in the order in which they became so. */
  #queue: PodUid[] = [];
  #sending = 0;
  readonly #backoff = new Backoff(retryLimits);
  #resting: Promise<void> | undefined;

  constructor(deps: StatusReporterDeps) {
    this.#deps = deps;
    this.#reports = deps.table.writer("report");
  }

  /** The node has a new status of the pod. */
  report(pod: Pod, status: PodStatus, isFinished: boolean): void {
    const { uid } = pod.metadata;
    const report = this.#reports.get(uid) ?? nothing;
    if (report.isDeleted) return;
    const urgent = isFinished || isUrgentChange(report.wanted?.status, status);
    const sinceMs = this.#deps.clock.monotonicMs();
    this.#reports.set(uid, { ...report, wanted: { pod, status, isFinished, sinceMs } });
    this.#want(uid, urgent);
  }

  /** Whether the node has reported the pod. */
  knows(uid: PodUid): boolean {
    return this.#reports.get(uid)?.wanted !== undefined;
  }

  /** The API server shows the pod, or a static pod's mirror, like this: corrects it where it is wrong. */
  reconcile(uid: PodUid, apiPod: Pod): void {
    const { wanted } = this.#reports.get(uid) ?? nothing;
    if (wanted === undefined) return;
    const deletable = isDeletable(apiPod, wanted.isFinished);
    if (deletable || isMisreported(apiPod, wanted.status)) this.#want(uid, deletable);
  }

  /** The API server knows the status of every pod. */
  get isSettled(): boolean {
    return this.#sending === 0 && this.#waiting().length === 0;
  }

  /** The pod's life is over: nothing more is reported of it. Should it come back under its UID, it begins again. */
  endLife(uid: PodUid): void {
    const report = this.#reports.get(uid);
    // A request that is under way must not be joined by another one.
    if (report !== undefined) this.#reports.set(uid, report.isSending ? sending : undefined);
  }

  #want(uid: PodUid, urgent: boolean): void {
    const report = this.#reports.get(uid) ?? nothing;
    if (report.pending === undefined) this.#queue.push(uid);
    const isUrgent = urgent || report.pending === "urgent";
    this.#reports.set(uid, { ...report, pending: isUrgent ? "urgent" : "ordinary" });
    this.#pump();
  }

  #pump(): void {
    while (this.#resting === undefined && this.#sending < sendersAtOnce) {
      const uid = this.#next();
      if (uid === undefined || this.#deps.lifetime.aborted) return;
      this.#sending += 1;
      this.#change(uid, { pending: undefined, isSending: true });
      void this.#trySend(uid).finally(() => {
        this.#sending -= 1;
        this.#endSending(uid);
        this.#pump();
      });
    }
  }

  /** A pod may have been forgotten, or be wanted twice, since it was queued. */
  #waiting(): readonly PodUid[] {
    this.#queue = [...new Set(this.#queue)].filter(
      (uid) => this.#reports.get(uid)?.pending !== undefined,
    );
    return this.#queue;
  }

  #next(): PodUid | undefined {
    const free = this.#waiting().filter((uid) => this.#reports.get(uid)?.isSending === false);
    return free.find((uid) => this.#reports.get(uid)?.pending === "urgent") ?? free[0];
  }

  /** Without effect on a pod that was forgotten meanwhile. */
  #change(uid: PodUid, change: Partial<PodReport>): void {
    const report = this.#reports.get(uid);
    if (report !== undefined) this.#reports.set(uid, { ...report, ...change });
  }

  #endSending(uid: PodUid): void {
    const report = this.#reports.get(uid);
    if (report === undefined) return;
    const isOver = report.wanted === undefined && !report.isDeleted;
    this.#reports.set(uid, isOver ? undefined : { ...report, isSending: false });
  }

  async #trySend(uid: PodUid): Promise<void> {
    const wanted = this.#reports.get(uid)?.wanted;
    if (wanted === undefined) return;
    const { clock, log, metrics, faults, lifetime } = this.#deps;
    try {
      await this.#send(wanted);
      const seconds = (clock.monotonicMs() - wanted.sinceMs) / 1000;
      metrics.observe("kubelet_pod_status_sync_duration_seconds", seconds);
      this.#backoff.reset();
    } catch (error) {
      if (lifetime.aborted) return;
      log.warn("cannot report a pod's status, trying again", {
        pod: podKey(wanted.pod),
        error: errorText(error),
      });
      if (isProgrammingError(error)) faults.note(error, "status report", uid);
      if (isAboutOnePod(error)) {
        void this.#wantLater(uid);
        return;
      }
      this.#rest();
      if (this.knows(uid)) this.#want(uid, false);
    }
  }

  // What is wrong with the server or the way to it is wrong for all pods.
  #rest(): void {
    const { clock, lifetime } = this.#deps;
    const delayMs = this.#backoff.nextMs();
    const rest = async (): Promise<void> => {
      await clock.sleep(delayMs, lifetime).catch(() => undefined);
      this.#resting = undefined;
      this.#pump();
    };
    this.#resting ??= rest();
  }

  async #send(wanted: WantedStatus): Promise<void> {
    const { pod } = wanted;
    const { uid } = pod.metadata;
    const shown = isStaticPod(pod) ? this.#mirrorOf(pod) : pod;
    // A static pod without a mirror pod there: its status is sent when the mirror pod appears.
    if (shown === undefined) return;
    const known = this.#lastKnown(pod);
    let current = known?.metadata.uid === shown.metadata.uid ? known : undefined;
    for (let attempt = 0; attempt < attemptsInARow; attempt += 1) {
      current ??= await unlessStatus([404], this.#request("GET", podPath(pod.metadata)));
      // The name may have gone to another pod meanwhile: this one's status is of no use any more.
      if (current === undefined || current.metadata.uid !== shown.metadata.uid) return;
      const isDone = await unlessStatus([404, 409], this.#apply(wanted, current));
      if (isDone === true) return;
      this.#change(uid, { answer: undefined });
      current = undefined;
    }
    void this.#wantLater(uid);
  }

  /** A static pod that has a successor has no mirror pod any more: the successor gets it. */
  #mirrorOf(pod: Pod): Pod | undefined {
    const { registry } = this.#deps;
    const current = registry.staticPod(podFullName(pod)) ?? pod;
    return current.metadata.uid === pod.metadata.uid ? registry.mirrorOf(pod) : undefined;
  }

  /** How the API server has the pod, without asking it: a change may be shown after it was answered. */
  #lastKnown(pod: Pod): Pod | undefined {
    const { uid } = pod.metadata;
    const shown = this.#deps.source.find(pod);
    const answer = this.#reports.get(uid)?.answer;
    if (answer === undefined || shown === undefined) return shown;
    if (answer.metadata.uid === shown.metadata.uid && isEarlier(shown, answer)) return answer;
    this.#change(uid, { answer: undefined });
    return shown;
  }

  /** Changes what the API server shows of the pod; rejects when it has been changed meanwhile, or is gone. */
  async #apply({ pod, status, isFinished }: WantedStatus, current: Pod): Promise<true> {
    const { clock, states } = this.#deps;
    const { uid } = pod.metadata;
    const next = reportedStatus({
      pod,
      apiStatus: current.status ?? {},
      status,
      mayHaveRunningContainers: states.couldHaveRunningContainers(uid),
      nowMs: clock.nowMs(),
    });
    const patch = strategicMergePatch({ ...current.status }, { ...wireStatus(next) }, mergeKeys);
    const updated = patch === undefined ? current : await this.#patch(current, patch);
    if (updated !== current) this.#change(uid, { answer: updated });
    if (isDeletable(updated, isFinished)) {
      if (!(await this.#delete(updated))) {
        void this.#wantLater(uid);
      } else if (!isStaticPod(pod)) {
        this.#change(uid, { ...nothing, isSending: true, isDeleted: true });
      }
    } else if (next.phase !== status.phase) void this.#wantLater(uid);
    return true;
  }

  /** What cannot be reported now is tried again without being asked: an end while something runs, say. */
  async #wantLater(uid: PodUid): Promise<void> {
    const { clock, lifetime } = this.#deps;
    await clock.sleep(heldBackMs, lifetime).catch(() => undefined);
    if (this.knows(uid)) this.#want(uid, false);
  }

  // A change of another version is refused: one that a dead agent sent must not undo what its successor reports.
  #patch({ metadata }: Pod, status: object): Promise<Pod> {
    const { uid, resourceVersion } = metadata;
    const body = { metadata: { uid, resourceVersion }, status };
    return this.#request("PATCH", podPath(metadata, "status"), body);
  }

  /** False when the server saw a conflict: another pod may have the name now, which the next attempt finds out. */
  async #delete({ metadata }: Pod): Promise<boolean> {
    try {
      await this.#request("DELETE", podPath(metadata), deleteAtOnce(metadata.uid));
    } catch (error) {
      if (isApiStatus(error, 409)) return false;
      if (!isApiStatus(error, 404)) throw error;
    }
    return true;
  }

  #request(method: "GET" | "PATCH" | "DELETE", path: string, body?: object): Promise<Pod> {
    return this.#deps.api.send<Pod>({ method, path, body }, this.#deps.lifetime);
  }
}

/** The server answered, and refused this one, or the report itself cannot be made: others need not wait. */
function isAboutOnePod(error: unknown): boolean {
  if (isProgrammingError(error)) return true;
  if (!(error instanceof ApiError)) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429;
}
