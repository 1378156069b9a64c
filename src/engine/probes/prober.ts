import { expandProbeCommand } from "../../core/probe/probe-command.ts";
import { initialProbeState, planProbe, restartMarginMs } from "../../core/probe/probe-worker.ts";
import type { ProbeView } from "../../core/status/probed-readiness.ts";
import type { Probe } from "../../model/generated/kubernetes.ts";
import { type AnyContainer, isSidecar, type Pod } from "../../model/pod.ts";
import type { ProbeKind, ProbeResults } from "../../model/probe.ts";
import { ProbeResultStore, type ProbeUpdate } from "./probe-results.ts";
import { ProbeWorker, type ProbeWorkerDependencies } from "./probe-worker.ts";

export interface ProberDependencies extends Omit<ProbeWorkerDependencies, "agentStartedAtMs"> {
  /** Told of every result that changed. */
  readonly onUpdate: (kind: ProbeKind, update: ProbeUpdate) => void;
}

/** Probes the containers of all pods and holds what was found. */
export class Prober {
  readonly #deps: ProberDependencies;
  readonly #startedAtMs: number;
  /** Containers that started more than the margin before ran under the agent before this one. */
  readonly #agentStartedAtMs: number;
  readonly #stores: Readonly<Record<ProbeKind, ProbeResultStore>>;
  /** By pod UID. */
  readonly #workers = new Map<string, Set<ProbeWorker>>();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: ProberDependencies) {
    this.#deps = deps;
    this.#startedAtMs = deps.clock.nowMs();
    // Statuses outlive the agent here, so that what was ready stays so however young it is: no margin is needed. The
    // times of containers are whole seconds.
    this.#agentStartedAtMs = Math.floor(this.#startedAtMs / 1000) * 1000 + restartMarginMs;
    const store = (kind: ProbeKind) =>
      new ProbeResultStore((update) => deps.onUpdate(kind, update));
    this.#stores = {
      startup: store("startup"),
      liveness: store("liveness"),
      readiness: store("readiness"),
    };
  }

  get livenessResults(): ProbeResults {
    return this.#stores.liveness.results;
  }

  get readinessResults(): ProbeResults {
    return this.#stores.readiness.results;
  }

  get startupResults(): ProbeResults {
    return this.#stores.startup.results;
  }

  /** What a pod's readiness depends on. */
  view(podUid: string): ProbeView {
    const workers = [...(this.#workers.get(podUid) ?? [])];
    const probed = (kind: ProbeKind) =>
      new Set(
        workers.filter(({ subject }) => subject.kind === kind).map((w) => w.subject.container.name),
      );
    return {
      agentStartedAtMs: this.#agentStartedAtMs,
      readinessProbed: probed("readiness"),
      startupProbed: probed("startup"),
      readinessResults: this.readinessResults,
      startupResults: this.startupResults,
    };
  }

  /** Starts a pod's probes; those that run already go on as they are. */
  addPod(pod: Pod): void {
    for (const container of probedContainers(pod)) {
      for (const [kind, probe] of probesOf(container)) {
        if (this.#find(pod.metadata.uid, container.name, kind) !== undefined) return;
        this.#start(pod, container, kind, probe);
      }
    }
  }

  /** A pod that ends must not be restarted by its probes; sidecars are probed until they stop. */
  stopLivenessAndStartup(podUid: string): void {
    this.#stop(
      podUid,
      ({ kind, pod, container }) =>
        kind !== "readiness" && pod.spec.containers.some(({ name }) => name === container.name),
    );
  }

  removePod(podUid: string): void {
    this.#stop(podUid, () => true);
  }

  /** Stops the probes of all pods that are not desired. */
  cleanup(desired: ReadonlySet<string>): void {
    for (const uid of this.#workers.keys()) if (!desired.has(uid)) this.removePod(uid);
  }

  /** Readiness of that container is in doubt: probe it now. */
  probeNow(podUid: string, containerName: string): void {
    this.#find(podUid, containerName, "readiness")?.trigger();
  }

  /** Ends all probes and waits for them. */
  async stop(): Promise<void> {
    this.cleanup(new Set());
    await Promise.all(this.#running);
  }

  #find(podUid: string, containerName: string, kind: ProbeKind): ProbeWorker | undefined {
    return [...(this.#workers.get(podUid) ?? [])].find(
      ({ subject }) => subject.container.name === containerName && subject.kind === kind,
    );
  }

  #start(pod: Pod, container: AnyContainer, kind: ProbeKind, probe: Probe): void {
    const { uid } = pod.metadata;
    const expanded = expandProbeCommand(probe, container);
    // Its container is not started: its config cannot be made either.
    if (!expanded.ok) return;
    const subject = {
      kind,
      probe: expanded.value,
      pod,
      container,
      agentStartedAtMs: this.#agentStartedAtMs,
    };
    // A probe that ends at once would tell of its beginning and its end, each time have the pod synced, and so begin
    // again and again.
    const { clock, podStatus } = this.#deps;
    const first = planProbe(subject, initialProbeState, podStatus(uid), clock.nowMs());
    if (first.next === "stop") return;
    const worker = new ProbeWorker(subject, this.#stores[kind], {
      ...this.#deps,
      agentStartedAtMs: this.#startedAtMs,
    });
    this.#workers.set(uid, (this.#workers.get(uid) ?? new Set()).add(worker));
    const running = worker.run().finally(() => {
      this.#forget(uid, worker);
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  #stop(podUid: string, matches: (subject: ProbeWorker["subject"]) => boolean): void {
    for (const worker of this.#workers.get(podUid) ?? []) {
      if (!matches(worker.subject)) continue;
      worker.stop();
      this.#forget(podUid, worker);
    }
  }

  #forget(podUid: string, worker: ProbeWorker): void {
    const workers = this.#workers.get(podUid);
    workers?.delete(worker);
    if (workers?.size === 0) this.#workers.delete(podUid);
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
