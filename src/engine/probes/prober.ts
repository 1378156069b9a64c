import { expandProbeCommand } from "../../core/probe/probe-command.ts";
import {
  initialProbeState,
  type ProbeSubject,
  planProbe,
  type ResultChange,
} from "../../core/probe/probe-worker.ts";
import type { Probe } from "../../model/generated/kubernetes.ts";
import type { ContainerId, PodUid } from "../../model/ids.ts";
import { type AnyContainer, isSidecar, type Pod } from "../../model/pod.ts";
import type { ProbeKind, ProbeResult } from "../../model/probe.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { PodProbing, RunningProbe } from "../pods/managed-pod.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import { findProbe, notProbed, probeEpochMs } from "./probe-view.ts";
import { ProbeWorker, type ProbeWorkerDeps } from "./probe-worker.ts";

export interface ProberDeps extends ProbeWorkerDeps {
  readonly table: PodTable;
  readonly statuses: Pick<PodStatuses, "get" | "setReady" | "setStarted">;
  readonly wakeups: Pick<Wakeups, "look">;
}

/** Probes the containers of all pods and keeps what was found. */
export class Prober {
  readonly #deps: ProberDeps;
  readonly #probings: SliceWriter<"probes">;
  readonly #running = new Set<Promise<void>>();

  constructor(deps: ProberDeps) {
    this.#deps = deps;
    this.#probings = deps.table.writer("probes");
  }

  /** Starts a pod's probes; those that run already go on as they are. */
  addPod(pod: Pod): void {
    for (const container of probedContainers(pod)) {
      for (const [kind, probe] of probesOf(container)) {
        const probing = this.#probings.get(pod.metadata.uid);
        if (findProbe(probing, container.name, kind) !== undefined) return;
        this.#start(pod, container, kind, probe);
      }
    }
  }

  /** A pod that ends must not be restarted by its probes; sidecars are probed until they stop. */
  stopLivenessAndStartup({ metadata, spec }: Pod): void {
    this.#stop(
      metadata.uid,
      ({ kind, container }) =>
        kind !== "readiness" && spec.containers.some(({ name }) => name === container),
    );
  }

  removePod(uid: PodUid): void {
    this.#stop(uid, () => true);
  }

  /** Ends all probes and waits for them. */
  async stop(): Promise<void> {
    for (const [uid] of this.#probings.entries()) this.removePod(uid);
    await Promise.all(this.#running);
  }

  #start(pod: Pod, container: AnyContainer, kind: ProbeKind, probe: Probe): void {
    const { uid } = pod.metadata;
    const expanded = expandProbeCommand(probe, container);
    // Its container is not started: its config cannot be made either.
    if (!expanded.ok) return;
    const agentStartedAtMs = probeEpochMs(this.#deps.agentStartedAtMs);
    const subject = { kind, probe: expanded.value, pod, container, agentStartedAtMs };
    // A probe that ends at once would report its beginning and its end, each time have the pod synced, and so begin
    // again and again.
    const { clock, statuses } = this.#deps;
    const first = planProbe(subject, initialProbeState, statuses.get(uid), clock.nowMs());
    if (first.next === "stop") return;
    const worker = new ProbeWorker(subject, this, this.#deps);
    const { running: others } = this.#probings.get(uid) ?? notProbed;
    this.#update(uid, { running: [...others, worker] });
    const running = worker.run().finally(() => {
      this.#drop(uid, worker);
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  #stop(uid: PodUid, matches: (probe: RunningProbe) => boolean): void {
    for (const probe of this.#probings.get(uid)?.running ?? []) {
      if (!matches(probe)) continue;
      probe.stop();
      this.#drop(uid, probe);
    }
  }

  #drop(uid: PodUid, probe: RunningProbe): void {
    const { running } = this.#probings.get(uid) ?? notProbed;
    this.#update(uid, { running: running.filter((other) => other !== probe) });
  }

  /** Whether its pod still has that probe: it goes with the pod's entry. */
  has(uid: PodUid, probe: RunningProbe): boolean {
    return this.#probings.get(uid)?.running.includes(probe) ?? false;
  }

  /** Keeps the results of a probe, and passes on those that changed. */
  keep({ kind, pod }: ProbeSubject, changes: readonly ResultChange[]): void {
    const { uid } = pod.metadata;
    for (const change of changes) {
      const { results } = this.#probings.get(uid) ?? notProbed;
      const ofKind = new Map(results[kind]);
      if (change.kind === "remove") ofKind.delete(change.containerId);
      else if (ofKind.get(change.containerId) === change.result) continue;
      else ofKind.set(change.containerId, change.result);
      this.#update(uid, { results: { ...results, [kind]: ofKind } });
      if (change.kind === "set") this.#passOn(kind, uid, change.containerId, change.result);
    }
  }

  #passOn(kind: ProbeKind, uid: PodUid, containerId: ContainerId, result: ProbeResult): void {
    const { statuses, wakeups } = this.#deps;
    if (kind === "readiness") statuses.setReady(uid, containerId, result === "Success");
    else if (kind === "startup") statuses.setStarted(uid, containerId, result === "Success");
    wakeups.look(uid);
  }

  #update(uid: PodUid, changes: Partial<PodProbing>): void {
    const next = { ...(this.#probings.get(uid) ?? notProbed), ...changes };
    const isNothing =
      next.running.length === 0 && Object.values(next.results).every(({ size }) => size === 0);
    this.#probings.set(uid, isNothing ? undefined : next);
  }
}

function probedContainers(pod: Pod): readonly AnyContainer[] {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
}

function probesOf({
  startupProbe,
  readinessProbe,
  livenessProbe,
}: AnyContainer): (readonly [ProbeKind, Probe])[] {
  const probes = [
    ["startup", startupProbe],
    ["readiness", readinessProbe],
    ["liveness", livenessProbe],
  ] as const;
  return probes.flatMap(([kind, probe]) => (probe === undefined ? [] : [[kind, probe] as const]));
}
