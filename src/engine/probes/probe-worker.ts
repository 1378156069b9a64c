import {
  initialProbeState,
  type ProbeState,
  type ProbeSubject,
  planProbe,
  type ResultChange,
  settleProbe,
} from "../../core/probe/probe-worker.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { findContainer } from "../../model/pod.ts";
import type { ProbeKind, ProbeResult } from "../../model/probe.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { ProbeOutcome, ProbeRequest, ProbeRunner } from "../../ports/probe-runner.ts";
import type { Faults } from "../agent/faults.ts";
import type { ProbeResultStore } from "./probe-results.ts";

export interface ProbeWorkerDependencies {
  readonly clock: Clock;
  /** From 0 (included) to 1 (excluded). */
  readonly random: () => number;
  readonly runner: ProbeRunner;
  readonly agentStartedAtMs: number;
  readonly events: PodEvents;
  readonly faults: Pick<Faults, "note">;
  /** The pod's status as last computed: it knows the addresses and container ids. */
  readonly podStatus: (uid: string) => PodStatus | undefined;
  /** Told of every probe that was run and counted. */
  readonly onProbed: (subject: ProbeSubject, result: ProbeResult, durationMs: number) => void;
}

const attempts = 3;
const defaultPeriodSeconds = 10;
const kindNames: Readonly<Record<ProbeKind, string>> = {
  readiness: "Readiness",
  liveness: "Liveness",
  startup: "Startup",
};

/** Runs one probe of one container again and again, and keeps its result. */
export class ProbeWorker {
  readonly subject: ProbeSubject;
  readonly #results: ProbeResultStore;
  readonly #deps: ProbeWorkerDependencies;
  readonly #stop = new AbortController();
  #state: ProbeState = initialProbeState;
  #triggered = false;
  readonly #wakeUp: WakeUp;

  constructor(subject: ProbeSubject, results: ProbeResultStore, deps: ProbeWorkerDependencies) {
    this.subject = subject;
    this.#results = results;
    this.#deps = deps;
    this.#wakeUp = new WakeUp(deps.clock);
  }

  get onHold(): boolean {
    return this.#state.onHold;
  }

  /** Runs the probe once more without waiting for its time. */
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
    const periodMs = (this.subject.probe.periodSeconds || defaultPeriodSeconds) * 1000;
    // A fresh agent finds all its pods at once: spread their probes.
    if (periodMs > clock.nowMs() - agentStartedAtMs) {
      await this.#sleep(random() * periodMs, this.#stop.signal);
    }
    let tickAtMs = clock.monotonicMs() + periodMs;
    while (!this.#stop.signal.aborted && (await this.#tryOnce())) {
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
    if (this.#state.containerId !== undefined) this.#results.remove(this.#state.containerId);
  }

  /** A round that fails in itself says nothing about the container: the next one comes in its time. */
  async #tryOnce(): Promise<boolean> {
    try {
      return await this.probeOnce();
    } catch (error) {
      this.#deps.faults.note(error, "probe", this.subject.pod.metadata.uid);
      return true;
    }
  }

  /** One round; false when there will never be anything to probe again. */
  async probeOnce(): Promise<boolean> {
    this.#triggered = false;
    const { clock, podStatus } = this.#deps;
    const status = podStatus(this.subject.pod.metadata.uid);
    const round = planProbe(this.subject, this.#state, status, clock.nowMs());
    this.#state = round.state;
    this.#publish(round.changes);
    const { containerId } = round.state;
    if (round.next === "probe" && status !== undefined && containerId !== undefined) {
      const { kind, probe, pod, container } = this.subject;
      await this.#probe({ kind, probe, pod, container, status, containerId });
    }
    return round.next !== "stop";
  }

  async #probe(request: ProbeRequest): Promise<void> {
    const { clock, onProbed } = this.#deps;
    const startedAtMs = clock.monotonicMs();
    const outcome = await this.#runWithRetries(request);
    if (outcome === undefined) return;
    const result = this.#judge(outcome);
    if (result === undefined) return;
    onProbed(this.subject, result, clock.monotonicMs() - startedAtMs);
    const { state, changes } = settleProbe(this.subject, this.#state, result);
    this.#state = state;
    this.#publish(changes);
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

  /** A probe that did not work itself is told about but counts for nothing. */
  #judge(outcome: ProbeOutcome): ProbeResult | undefined {
    const name = kindNames[this.subject.kind];
    switch (outcome.result) {
      case "error": {
        const { state, output } = outcome;
        this.#tell("Unhealthy", `${name} probe errored and resulted in ${state} state: ${output}`);
        return undefined;
      }
      case "success":
        return "Success";
      case "warning":
        this.#tell("ProbeWarning", `${name} probe warning: ${outcome.output}`);
        return "Success";
      case "failure":
        this.#tell("Unhealthy", `${name} probe failed: ${outcome.output}`);
        return "Failure";
      case "unknown":
        return "Failure";
    }
  }

  #tell(reason: string, message: string): void {
    const { pod, container } = this.subject;
    const kind = findContainer(pod, container.name)?.kind ?? "regular";
    const place = { kind, name: container.name };
    this.#deps.events.record(pod, { type: "Warning", reason, message, container: place });
  }

  #publish(changes: readonly ResultChange[]): void {
    const podUid = this.subject.pod.metadata.uid;
    for (const change of changes) {
      if (change.kind === "remove") this.#results.remove(change.containerId);
      else this.#results.set({ podUid, ...change });
    }
  }

  /** Ends early when the signal aborts. */
  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0 || signal.aborted) return;
    try {
      await this.#deps.clock.sleep(ms, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
