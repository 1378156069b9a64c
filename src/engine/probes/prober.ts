import { expandProbeCommand } from "../../core/probe/probe-command.ts";
import {
  initialProbeState,
  type ProbeState,
  type ProbeSubject,
  planProbe,
  type ResultChange,
  settleProbe,
} from "../../core/probe/probe-worker.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type { Probe } from "../../model/generated/kubernetes.ts";
import type { ContainerId, PodUid } from "../../model/ids.ts";
import { type AnyContainer, findContainer, isSidecar, type Pod } from "../../model/pod.ts";
import type { ProbeKind, ProbeResult } from "../../model/probe.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { ProbeOutcome, ProbeRequest, ProbeRunner } from "../../ports/probe-runner.ts";
import type { Faults } from "../agent/faults.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { PodProbing, PodTable, RunningProbe, SliceWriter } from "../pods/pod-table.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import { findProbe, notProbed, probeEpochMs } from "./probe-view.ts";

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

interface ProbeWorkerDeps {
  readonly clock: Clock;
  /** From 0 (included) to 1 (excluded). */
  readonly random: () => number;
  readonly runner: ProbeRunner;
  readonly agentStartedAtMs: number;
  readonly events: PodEvents;
  readonly faults: Pick<Faults, "note">;
  readonly metrics: Pick<Metrics, "increment" | "observe" | "drop">;
  /** A status has the addresses and container ids. */
  readonly statuses: Pick<PodStatuses, "get">;
}

const attempts = 3;
const defaultPeriodSeconds = 10;
const kindNames: Readonly<Record<ProbeKind, string>> = {
  readiness: "Readiness",
  liveness: "Liveness",
  startup: "Startup",
};

const resultNames: Readonly<Record<ProbeResult, string>> = {
  Success: "successful",
  Failure: "failed",
  UNKNOWN: "unknown",
};

/** Runs one probe of one container again and again. */
export class ProbeWorker implements RunningProbe {
  readonly #subject: ProbeSubject;
  readonly #prober: Pick<Prober, "has" | "keep">;
  readonly #deps: ProbeWorkerDeps;
  readonly #stop = new AbortController();
  #state: ProbeState = initialProbeState;
  #triggered = false;
  readonly #wakeUp: WakeUp;

  constructor(subject: ProbeSubject, prober: Pick<Prober, "has" | "keep">, deps: ProbeWorkerDeps) {
    this.#subject = subject;
    this.#prober = prober;
    this.#deps = deps;
    this.#wakeUp = new WakeUp(deps.clock);
  }

  get kind(): ProbeKind {
    return this.#subject.kind;
  }

  get container(): string {
    return this.#subject.container.name;
  }

  get onHold(): boolean {
    return this.#state.onHold;
  }

  /** Runs the probe again without waiting for its time. */
  trigger(): void {
    this.#triggered = true;
    this.#wakeUp.notify();
  }

  /** Ends the loop and any probe in progress, and forgets the result. */
  stop(): void {
    this.#stop.abort();
  }

  /** Probes in the period of the probe, until stopped or until there is nothing left to probe. */
  async run(): Promise<void> {
    const { clock, random, agentStartedAtMs } = this.#deps;
    const periodMs = (this.#subject.probe.periodSeconds || defaultPeriodSeconds) * 1000;
    // A fresh agent finds all its pods at once: spread their probes.
    if (periodMs > clock.nowMs() - agentStartedAtMs) {
      await clock.sleep(random() * periodMs, this.#stop.signal).catch(() => undefined);
    }
    let tickAtMs = clock.monotonicMs() + periodMs;
    while (this.#isWanted() && (await this.#tryOnce())) {
      if (this.#triggered) {
        tickAtMs = clock.monotonicMs() + periodMs;
        continue;
      }
      // A trigger from before this round was served by it.
      this.#wakeUp.clear();
      await this.#wakeUp.wait(tickAtMs - clock.monotonicMs(), this.#stop.signal);
      const nowMs = clock.monotonicMs();
      if (this.#triggered) tickAtMs = nowMs + periodMs;
      else tickAtMs += periodMs * (1 + Math.max(0, Math.floor((nowMs - tickAtMs) / periodMs)));
    }
    const { containerId } = this.#state;
    if (containerId !== undefined)
      this.#prober.keep(this.#subject, [{ kind: "remove", containerId }]);
    this.#dropMetrics();
  }

  #isWanted(): boolean {
    return !this.#stop.signal.aborted && this.#prober.has(this.#subject.pod.metadata.uid, this);
  }

  /** A round that fails in itself says nothing about the container: the next one comes in its time. */
  async #tryOnce(): Promise<boolean> {
    try {
      return await this.probeOnce();
    } catch (error) {
      this.#deps.faults.note(error, "probe", this.#subject.pod.metadata.uid);
      return true;
    }
  }

  /** One round; false when there will never be anything to probe again. */
  async probeOnce(): Promise<boolean> {
    this.#triggered = false;
    const { clock, statuses } = this.#deps;
    const status = statuses.get(this.#subject.pod.metadata.uid);
    const round = planProbe(this.#subject, this.#state, status, clock.nowMs());
    this.#state = round.state;
    this.#prober.keep(this.#subject, round.changes);
    const { containerId } = round.state;
    if (round.next === "probe" && status !== undefined && containerId !== undefined) {
      const { kind, probe, pod, container } = this.#subject;
      await this.#probe({ kind, probe, pod, container, status, containerId });
    }
    return round.next !== "stop";
  }

  async #probe(request: ProbeRequest): Promise<void> {
    const { clock } = this.#deps;
    const startedAtMs = clock.monotonicMs();
    const outcome = await this.#runWithRetries(request);
    if (outcome === undefined) return;
    const result = this.#judge(outcome);
    if (result === undefined) return;
    this.#count(result, clock.monotonicMs() - startedAtMs);
    const { state, changes } = settleProbe(this.#subject, this.#state, result);
    this.#state = state;
    this.#prober.keep(this.#subject, changes);
  }

  /** Undefined when the worker was stopped meanwhile. */
  async #runWithRetries(request: ProbeRequest): Promise<ProbeOutcome | undefined> {
    const { signal } = this.#stop;
    let outcome: ProbeOutcome | undefined;
    for (let attempt = 0; attempt < attempts; attempt++) {
      try {
        outcome = await this.#deps.runner.run(request, signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        throw error;
      }
      if (signal.aborted) return undefined;
      if (outcome.result !== "error") break;
    }
    return outcome;
  }

  /** A probe that did not work itself is reported but counts for nothing. */
  #judge(outcome: ProbeOutcome): ProbeResult | undefined {
    const name = kindNames[this.#subject.kind];
    switch (outcome.result) {
      case "error": {
        const { state, output } = outcome;
        this.#report(
          "Unhealthy",
          `${name} probe errored and resulted in ${state} state: ${output}`,
        );
        return undefined;
      }
      case "success":
        return "Success";
      case "warning":
        this.#report("ProbeWarning", `${name} probe warning: ${outcome.output}`);
        return "Success";
      case "failure":
        this.#report("Unhealthy", `${name} probe failed: ${outcome.output}`);
        return "Failure";
      case "unknown":
        return "Failure";
    }
  }

  #report(reason: string, message: string): void {
    const { pod, container } = this.#subject;
    const kind = findContainer(pod, container.name)?.kind ?? "regular";
    const place = { kind, name: container.name };
    this.#deps.events.record(pod, { type: "Warning", reason, message, container: place });
  }

  #count(result: ProbeResult, durationMs: number): void {
    const { metrics } = this.#deps;
    const { uid, name: pod, namespace } = this.#subject.pod.metadata;
    const labels = { ...this.#labels(), pod, namespace };
    metrics.increment("prober_probe_total", {
      ...labels,
      pod_uid: uid,
      result: resultNames[result],
    });
    if (result === "Failure") return;
    metrics.observe("prober_probe_duration_seconds", durationMs / 1000, labels);
  }

  /** What was measured goes with the probe, as upstream's does. */
  #dropMetrics(): void {
    const { metrics } = this.#deps;
    const { uid, name: pod, namespace } = this.#subject.pod.metadata;
    metrics.drop("prober_probe_total", { ...this.#labels(), pod_uid: uid });
    metrics.drop("prober_probe_duration_seconds", { ...this.#labels(), pod, namespace });
  }

  #labels(): { readonly probe_type: string; readonly container: string } {
    return { probe_type: kindNames[this.kind], container: this.container };
  }
}
