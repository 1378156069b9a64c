import { planRemoval } from "../../core/pod/plan-end.ts";
import { nextDelayMs } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import type { PodUid } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { AgentPorts } from "../agent/agent-ports.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import { type EndExecutorDeps, executePlan } from "../execute/execute-plan.ts";
import { failuresText } from "../execute/step-report.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { PodChanges } from "../view/pod-changes.ts";
import { mayHaveMounts } from "../volumes/volume-states.ts";
import { hasFiles, type PodMemory } from "./pod-memory.ts";
import { type PodStage, removeStages } from "./pod-stage.ts";
import type { ManagedPod, PodTable, SliceWriter } from "./pod-table.ts";
import { howEnded, syncRecord } from "./sync-record.ts";

const lookEveryMs = 10_000;
const retryLimits = { initialMs: 2_000, maxMs: 16_000 };

export interface PodRemainsDeps {
  readonly ports: Pick<AgentPorts, "clock" | "log" | "metrics">;
  readonly executor: EndExecutorDeps;
  readonly table: PodTable;
  readonly stages: readonly PodStage[];
  readonly changes: Pick<PodChanges, "noteGone">;
  readonly memory: Pick<PodMemory, "remove" | "recorder">;
  readonly observed: Pick<ObservedPods, "all" | "find" | "getNewerThan">;
  readonly wakeups: Wakeups;
  readonly lifetime: AbortSignal;
}

/**
 * Removes what pods leave that no source wants any more: what the runtime has of them, then what their stages left, then
 * what the agent remembers. Each pod is removed by itself, once at a time; one that cannot be removed is tried again.
 */
export class PodRemains {
  readonly #deps: PodRemainsDeps;
  readonly #removals: SliceWriter<"removal">;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(deps: PodRemainsDeps) {
    this.#deps = deps;
    this.#removals = deps.table.writer("removal");
  }

  /** Starts the removal of everything of other pods; one pod that cannot be removed holds up no other. */
  async removeAllBut(kept: ReadonlySet<PodUid>): Promise<void> {
    await this.#lookForOthers();
    for (const { uid } of this.#deps.observed.all()) this.#noteFound(uid);
    let begun = 0;
    for (const pod of this.#deps.table.all()) {
      if (kept.has(pod.uid)) this.#keep(pod);
      else if (this.#isDue(pod)) {
        const delayMs = pod.removal?.state === "due" ? pod.removal.delayMs : undefined;
        const ended = this.#tryRemove(pod.uid, delayMs);
        this.#removals.set(pod.uid, { state: "running", ended, delayMs });
        begun++;
      }
    }
    const { metrics } = this.#deps.ports;
    metrics.set("kubelet_orphan_pod_cleaned_volumes", begun);
    metrics.set("kubelet_orphan_pod_cleaned_volumes_errors", this.#failures);
    this.#failures = 0;
  }

  // What an agent before this one or another program left: seldom, because this agent knows its own pods.
  async #lookForOthers(): Promise<void> {
    const { ports, stages } = this.#deps;
    const nowMs = ports.clock.monotonicMs();
    if (nowMs - this.#lookedAtMs < lookEveryMs) return;
    for (const stage of stages) {
      for (const uid of (await stage.listFound?.()) ?? []) this.#noteFound(uid);
    }
    this.#lookedAtMs = nowMs;
  }

  /** A pod that the agent knows is removed when no source wants it any more. */
  #noteFound(uid: PodUid): void {
    const pod = this.#deps.table.get(uid);
    if (pod === undefined || pod.removal?.state === "done") this.#removals.set(uid, foundNow);
  }

  /** Whatever was removed of it before, its next life leaves something again. */
  #keep({ uid, removal }: ManagedPod): void {
    if (removal !== undefined && removal.state !== "running") this.#removals.set(uid, undefined);
  }

  #isDue(pod: ManagedPod): boolean {
    const { uid, removal } = pod;
    // A sandbox of another program may be labelled with anything: never a path out of the pods' folder.
    if (!isFileName(uid)) return false;
    switch (removal?.state) {
      case undefined:
        return true;
      case "due":
        return this.#deps.ports.clock.monotonicMs() >= removal.atMs;
      case "running":
        return false;
      case "done":
        // Written by what ended late, or found mounted late. What comes to the runtime late was found there.
        return hasFiles(pod) || mayHaveMounts(pod.storage);
    }
  }

  /** Never rejects: what failed is in the slice. `lastDelayMs`: that of the failure before, if there was one. */
  async #tryRemove(uid: PodUid, lastDelayMs: number | undefined): Promise<void> {
    const { ports, table, wakeups, lifetime } = this.#deps;
    const { leaving } = table.get(uid) ?? {};
    const hasReturned = (): boolean => isNextLife(table.get(uid), leaving);
    try {
      await this.#remove(uid, hasReturned);
      this.#removals.set(uid, hasReturned() ? foundNow : { state: "done" });
      wakeups.housekeep();
    } catch (thrown) {
      const error = errorText(thrown);
      const delayMs = nextDelayMs(lastDelayMs, retryLimits);
      const atMs = ports.clock.monotonicMs() + delayMs;
      this.#removals.set(uid, { state: "due", atMs, error, delayMs });
      if (lifetime.aborted) return;
      // Part of it may be gone: a pod that comes back under its UID must not take that for its own.
      wakeups.read(uid);
      this.#failures++;
      const fields = { podUid: uid, error, retryInMs: delayMs };
      const level = lastDelayMs === undefined ? "warn" : "debug";
      ports.log[level]("cannot remove what a pod left, trying again", fields);
    }
  }

  async #remove(uid: PodUid, hasReturned: () => boolean): Promise<void> {
    const { ports, changes, memory, observed, lifetime } = this.#deps;
    const found = observed.find(uid);
    if (found !== undefined) await this.#removeFromRuntime(found);
    await this.#removeStages(uid, found);
    if (found !== undefined) {
      const { sandboxes } = await observed.getNewerThan(uid, ports.clock.monotonicMs(), lifetime);
      if (sandboxes.length > 0) throw new Error("the runtime has another sandbox of the pod");
    }
    // A static pod of the same content may have come back meanwhile, and is remembered.
    if (hasReturned()) return;
    // Others see a pod with its status, which goes now.
    changes.noteGone(uid);
    await memory.remove(uid);
  }

  /** Only a failure is recorded: when nothing is left, the records go as well. */
  async #removeStages(uid: PodUid, found: ObservedPod | undefined): Promise<void> {
    const { ports, table, stages, memory, lifetime } = this.#deps;
    const startedAtMs = ports.clock.nowMs();
    try {
      await removeStages(stages, uid, lifetime);
    } catch (error) {
      // The name of a pod of a past agent may be unknown.
      const named = table.get(uid)?.leaving?.metadata ?? found;
      const { name, namespace } = named ?? { name: uid, namespace: "" };
      const end = howEnded(error, lifetime);
      const work = {
        kind: "removing",
        observed: undefined,
        startedAtMs,
        reports: [],
        ...end,
      } as const;
      memory.recorder.record(syncRecord({ uid, name, namespace }, work, ports.clock.nowMs()));
      throw error;
    }
  }

  async #removeFromRuntime(observed: ObservedPod): Promise<void> {
    const { executor, memory, lifetime } = this.#deps;
    const { recorder } = memory;
    const { clock } = executor.kill;
    const startedAtMs = clock.nowMs();
    const input = { observed };
    const plan = planRemoval(input);
    recorder.noteDecision({ kind: "removal", atMs: startedAtMs, input, outcome: plan });
    const { uid, name, namespace } = observed;
    const pod = { metadata: { uid, name, namespace }, spec: { containers: [] } };
    const { reports, error } = await executePlan(executor, { pod, observed, plan }, lifetime);
    const end = howEnded(error, lifetime);
    const work = { kind: "removing", observed, startedAtMs, reports, ...end } as const;
    recorder.record(syncRecord(observed, work, clock.nowMs()));
    if (error !== undefined) throw error;
    const failures = failuresText(reports);
    if (failures !== undefined) throw new Error(failures);
  }
}

const foundNow = { state: "due", atMs: Number.NEGATIVE_INFINITY } as const;

/** The pod has come back since it left so, whether or not it has gone again: that life leaves something of its own. */
function isNextLife(pod: ManagedPod | undefined, left: ManagedPod["leaving"]): boolean {
  const { wanted, leaving } = pod ?? {};
  return wanted !== undefined || (leaving !== undefined && leaving !== left);
}

function isFileName(uid: PodUid): boolean {
  return uid !== "" && uid !== "." && uid !== ".." && !uid.includes("/");
}
