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
import { type Pod, podKey } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Faults } from "../agent/faults.ts";
import { podPath } from "../cluster/api-path.ts";
import { deleteAtOnce, unlessStatus } from "../cluster/pod-requests.ts";

const sendersAtOnce = 10;
const retryLimits = { initialMs: 500, maxMs: 10_000 };
const heldBackMs = 10_000;
/** Of a pod that others change at the same time. */
const attemptsInARow = 5;
const mergeKeys = { conditions: "type", podIPs: "ip", hostIPs: "ip" };

export interface StatusReporterDeps {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Pick<Faults, "note">;
  /** The API server's picture of a static pod, as last seen. */
  readonly mirrorOf: (pod: Pod) => Pod | undefined;
  /** The pod of that name as the API server last showed it. */
  readonly shownPod: (pod: Pod) => Pod | undefined;
  /** A terminal phase is held back while this is so. */
  readonly mayHaveRunningContainers: (uid: string) => boolean;
  /** How long it took until a status was told. */
  readonly onSent: (durationMs: number) => void;
  readonly lifetime: AbortSignal;
}

interface WantedStatus {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly isFinished: boolean;
  /** On the monotonic clock. */
  readonly sinceMs: number;
}

/**
 * Tells the API server the status of every pod: the newest only, one request per pod at a time, urgent news
 * first, again and again until they are delivered. Forgets nothing while the server is away.
 */
export class StatusReporter {
  readonly #deps: StatusReporterDeps;
  /** What the API server is to know, by the node's UID of the pod. */
  readonly #wanted = new Map<string, WantedStatus>();
  /** UIDs that have something to tell; true = urgent. */
  readonly #pending = new Map<string, boolean>();
  readonly #sending = new Set<string>();
  /** What the API server answered to the last change of a pod, by the node's UID, until it shows that or more. */
  readonly #answers = new Map<string, Pod>();
  /** Pods that this reporter had the API server forget: it refuses every question about them. */
  readonly #forgotten = new Set<string>();
  readonly #backoff = new Backoff(retryLimits);
  #resting: Promise<void> | undefined;

  constructor(deps: StatusReporterDeps) {
    this.#deps = deps;
  }

  /** The node has a new status of the pod. */
  report(pod: Pod, status: PodStatus, isFinished: boolean): void {
    const { uid } = pod.metadata;
    if (this.#forgotten.has(uid)) return;
    const urgent = isFinished || isUrgentChange(this.#wanted.get(uid)?.status, status);
    const sinceMs = this.#deps.clock.monotonicMs();
    this.#wanted.set(uid, { pod, status, isFinished, sinceMs });
    this.#want(uid, urgent);
  }

  /** Whether the node has told of the pod. */
  knows(uid: string): boolean {
    return this.#wanted.has(uid);
  }

  /** The API server shows the pod, or a static pod's mirror, like this: corrects it where it is wrong. */
  reconcile(uid: string, apiPod: Pod): void {
    const wanted = this.#wanted.get(uid);
    if (wanted === undefined) return;
    const deletable = isDeletable(apiPod, wanted.isFinished);
    if (deletable || isMisreported(apiPod, wanted.status)) this.#want(uid, deletable);
  }

  /** The API server knows all there is to tell. */
  get isSettled(): boolean {
    return this.#pending.size === 0 && this.#sending.size === 0;
  }

  /** Forgets all pods but these. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const uid of this.#wanted.keys()) if (!uids.has(uid)) this.#forget(uid);
    for (const uid of this.#forgotten) if (!uids.has(uid)) this.#forgotten.delete(uid);
  }

  #forget(uid: string): void {
    this.#wanted.delete(uid);
    this.#pending.delete(uid);
    this.#answers.delete(uid);
  }

  #want(uid: string, urgent: boolean): void {
    this.#pending.set(uid, urgent || this.#pending.get(uid) === true);
    this.#pump();
  }

  #pump(): void {
    while (this.#resting === undefined && this.#sending.size < sendersAtOnce) {
      const uid = this.#next();
      if (uid === undefined || this.#deps.lifetime.aborted) return;
      this.#pending.delete(uid);
      this.#sending.add(uid);
      void this.#trySend(uid).finally(() => {
        this.#sending.delete(uid);
        this.#pump();
      });
    }
  }

  #next(): string | undefined {
    const free = [...this.#pending].filter(([uid]) => !this.#sending.has(uid));
    return (free.find(([, urgent]) => urgent) ?? free[0])?.[0];
  }

  async #trySend(uid: string): Promise<void> {
    const wanted = this.#wanted.get(uid);
    if (wanted === undefined) return;
    try {
      const { clock, onSent } = this.#deps;
      await this.#send(wanted);
      onSent(clock.monotonicMs() - wanted.sinceMs);
      this.#backoff.reset();
    } catch (error) {
      if (this.#deps.lifetime.aborted) return;
      this.#deps.log.warn("cannot report a pod's status, trying again", {
        pod: podKey(wanted.pod),
        error: errorText(error),
      });
      if (isProgrammingError(error)) this.#deps.faults.note(error, "status report", uid);
      if (isAboutOnePod(error)) {
        void this.#wantLater(uid);
        return;
      }
      this.#pending.set(uid, this.#pending.get(uid) ?? false);
      this.#rest();
    }
  }

  // What is wrong with the server or the way to it is wrong for all pods.
  #rest(): void {
    const delayMs = this.#backoff.nextMs();
    this.#resting ??= this.#sleep(delayMs);
  }

  async #sleep(ms: number): Promise<void> {
    const { clock, lifetime } = this.#deps;
    await clock.sleep(ms, lifetime).catch(() => undefined);
    this.#resting = undefined;
    this.#pump();
  }

  async #send(wanted: WantedStatus): Promise<void> {
    const { pod } = wanted;
    const { uid } = pod.metadata;
    const shown = isStaticPod(pod) ? this.#deps.mirrorOf(pod) : pod;
    // A static pod without a picture there: it comes with the picture.
    if (shown === undefined) return;
    const known = this.#lastKnown(pod);
    let current = known?.metadata.uid === shown.metadata.uid ? known : undefined;
    for (let attempt = 0; attempt < attemptsInARow; attempt += 1) {
      current ??= await unlessStatus([404], this.#request("GET", podPath(pod.metadata)));
      // The name may have gone to another pod meanwhile: this one's status interests nobody any more.
      if (current === undefined || current.metadata.uid !== shown.metadata.uid) return;
      const isTold = await unlessStatus([404, 409], this.#tell(wanted, current));
      if (isTold === true) return;
      this.#answers.delete(uid);
      current = undefined;
    }
    void this.#wantLater(uid);
  }

  /** How the API server has the pod, without asking it: news of a change may come after the answer to it. */
  #lastKnown(pod: Pod): Pod | undefined {
    const { uid } = pod.metadata;
    const shown = this.#deps.shownPod(pod);
    const answer = this.#answers.get(uid);
    if (answer === undefined || shown === undefined) return shown;
    if (answer.metadata.uid === shown.metadata.uid && isOlder(shown, answer)) return answer;
    this.#answers.delete(uid);
    return shown;
  }

  /** Changes what the API server shows of the pod; rejects when it has been changed meanwhile, or is gone. */
  async #tell({ pod, status, isFinished }: WantedStatus, current: Pod): Promise<true> {
    const { clock, mayHaveRunningContainers } = this.#deps;
    const { uid } = pod.metadata;
    const next = reportedStatus({
      pod,
      apiStatus: current.status ?? {},
      status,
      mayHaveRunningContainers: mayHaveRunningContainers(uid),
      nowMs: clock.nowMs(),
    });
    const patch = strategicMergePatch({ ...current.status }, { ...wireStatus(next) }, mergeKeys);
    const updated = patch === undefined ? current : await this.#patch(current, patch);
    if (updated !== current) this.#answers.set(uid, updated);
    if (isDeletable(updated, isFinished)) {
      if (!(await this.#delete(updated))) {
        void this.#wantLater(uid);
      } else if (!isStaticPod(pod)) {
        this.#forgotten.add(uid);
        this.#forget(uid);
      }
    } else if (next.phase !== status.phase) void this.#wantLater(uid);
    return true;
  }

  /** What cannot be told now is tried again, also when nobody says that it can: an end while something runs, say. */
  async #wantLater(uid: string): Promise<void> {
    const { clock, lifetime } = this.#deps;
    await clock.sleep(heldBackMs, lifetime).catch(() => undefined);
    if (this.#wanted.has(uid)) this.#want(uid, false);
  }

  // A change of another version is refused: one that a dead agent sent must not undo what its successor tells.
  #patch({ metadata }: Pod, status: object): Promise<Pod> {
    const { uid, resourceVersion } = metadata;
    const body = { metadata: { uid, resourceVersion }, status };
    return this.#request("PATCH", podPath(metadata, "status"), body);
  }

  /** False when the server saw a conflict: another pod may have the name now, which the next look tells. */
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

/** Whether the first of two versions of an object came before the other: their numbers grow. */
function isOlder(one: Pod, other: Pod): boolean {
  const [first = "", second = ""] = [one, other].map((pod) => pod.metadata.resourceVersion);
  return first.length < second.length || (first.length === second.length && first < second);
}

/** The server answered, and refused this one, or what is to be told cannot be made: others need not wait. */
function isAboutOnePod(error: unknown): boolean {
  if (isProgrammingError(error)) return true;
  if (!(error instanceof ApiError)) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429;
}
