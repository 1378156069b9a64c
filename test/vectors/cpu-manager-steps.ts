// A CPU manager that is taken through the steps of a vector, with its state file.

import { cpuCheckpointDump } from "../../src/core/devices/cpu/cpu-checkpoint.ts";
import { type CpuManager, startCpuManager } from "../../src/core/devices/cpu/cpu-manager.ts";
import { cpuPolicy } from "../../src/core/devices/cpu/cpu-policy.ts";
import { admissionFailure } from "../../src/core/devices/topology/allocation-error.ts";
import type { ContainerRef } from "../../src/core/devices/topology/container-ref.ts";
import { staleContainers } from "../../src/core/devices/topology/container-ref.ts";
import { type CpuSet, cpuSetText, parseCpuSet } from "../../src/model/cpu-set.ts";
import type { PodStatus } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { mustParseQuantity } from "../../src/model/quantity.ts";
import { ActivePods } from "./active-pods.ts";
import {
  decodeHint,
  type EncodedHint,
  type EncodedMachine,
  encodeHints,
  machineTopology,
} from "./machine-encodings.ts";

interface Settings {
  readonly machineInfo: EncodedMachine;
  readonly policy: string;
  readonly policyOptions: Readonly<Record<string, string>>;
  readonly reservedCPU: string | null;
  readonly reservedSystemCPUs: string;
  readonly topologyManagerPolicy: string;
  readonly checkpointFile?: string;
}

interface OfContainer {
  readonly pod: string;
  readonly container: string;
}

type Step =
  | ({ readonly op: "allocate"; readonly affinity?: EncodedHint } & OfContainer)
  | ({ readonly op: "hints" | "affinity" } & OfContainer)
  | ({ readonly op: "addContainer"; readonly containerID: string } & OfContainer)
  | { readonly op: "podHints" | "removePod"; readonly pod: string }
  | { readonly op: "removeContainer"; readonly containerID: string }
  | {
      readonly op: "reconcile";
      readonly podStatuses?: Readonly<Record<string, PodStatus>>;
      readonly updateErrors?: readonly string[];
    }
  | ({ readonly op: "restart" } & Partial<Settings>);

export interface CpuManagerInput extends Settings {
  readonly initialContainers?: readonly (OfContainer & { readonly containerID: string })[];
  readonly pods: readonly Pod[];
  readonly steps: readonly Step[];
}

export function runCpuManager(input: CpuManagerInput, alphaOptions: boolean): unknown {
  const run = new CpuManagerRun(input, alphaOptions);
  const started = run.start(input);
  if (!("allCPUs" in started)) return started;
  const steps: object[] = [];
  for (const step of input.steps) {
    const result = run.step(step);
    steps.push(result);
    if ("startError" in result || "newError" in result) break;
  }
  return { ...started, steps, ...run.file() };
}

class CpuManagerRun {
  readonly #alphaOptions: boolean;
  readonly #pods: ActivePods;
  readonly #containers = new Map<string, ContainerRef>();
  #settings: Settings;
  #manager: CpuManager | undefined;
  #policyName = "";
  #file: string | undefined;

  constructor(input: CpuManagerInput, alphaOptions: boolean) {
    this.#alphaOptions = alphaOptions;
    this.#pods = new ActivePods(input.pods);
    this.#settings = input;
    for (const { containerID, pod, container } of input.initialContainers ?? []) {
      this.#containers.set(containerID, { podUid: pod, container });
    }
  }

  start(changes: Partial<Settings>): object {
    this.#settings = { ...this.#settings, ...changes };
    this.#file = changes.checkpointFile ?? this.#file;
    const settings = this.#settings;
    const policy = cpuPolicy(
      {
        policy: settings.policy,
        options: settings.policyOptions,
        optionGates: { alpha: this.#alphaOptions, beta: true },
        reservation:
          settings.reservedCPU === null ? undefined : mustParseQuantity(settings.reservedCPU),
        reservedCpus: cpusOf(settings.reservedSystemCPUs),
        topologyPolicy: settings.topologyManagerPolicy,
      },
      machineTopology(settings.machineInfo),
    );
    if (!policy.ok) return { newError: policy.error };
    const manager = startCpuManager(policy.value, {
      file: this.#file,
      filePath: "/STATEDIR/cpu_manager_state",
      containers: this.#containers,
    });
    if (!manager.ok) return { startError: manager.error };
    this.#manager = manager.value;
    this.#policyName = policy.value.name;
    return {
      allocatableCPUs: cpuSetText(this.#manager.allocatableCpus()),
      allCPUs: cpuSetText(this.#manager.allCpus()),
      ...this.#state(),
    };
  }

  step(step: Step): object {
    if ("pod" in step && step.op !== "removePod") this.#pods.add(step.pod);
    if (step.op === "restart") return this.start(step);
    const result = this.#run(step);
    return { ...result, ...this.#state() };
  }

  #run(step: Exclude<Step, { op: "restart" }>): object {
    const manager = this.#running;
    switch (step.op) {
      case "allocate": {
        manager.removeStale(staleContainers(this.#pods.list()));
        const { pod, container } = this.#pods.find(step);
        const affinity = decodeHint(step.affinity ?? { nodes: null, preferred: false });
        const error = manager.allocate(pod, container, affinity);
        if (error === undefined) return {};
        const { reason, message } = admissionFailure(error);
        return { error: error.message, admissionReason: reason, admissionMessage: message };
      }
      case "hints": {
        manager.removeStale(staleContainers(this.#pods.list()));
        const { pod, container } = this.#pods.find(step);
        return { hints: encodeHints(manager.hints(pod, container)) };
      }
      case "podHints":
        manager.removeStale(staleContainers(this.#pods.list()));
        return { hints: encodeHints(manager.podHints(this.#pods.get(step.pod))) };
      case "affinity": {
        const ref = { podUid: step.pod, container: step.container };
        return {
          cpuAffinity: cpuSetText(manager.cpusFor(ref)),
          exclusiveCPUs: cpuSetText(manager.exclusiveCpus(ref)),
        };
      }
      case "addContainer": {
        const ref = { podUid: step.pod, container: step.container };
        this.#containers.set(step.containerID, ref);
        manager.addContainer(step.containerID, ref);
        return {};
      }
      case "removeContainer":
        this.#containers.delete(step.containerID);
        manager.removeContainer(step.containerID);
        return {};
      case "removePod":
        this.#pods.remove(step.pod);
        return {};
      case "reconcile":
        return this.#reconcile(step.podStatuses ?? {}, step.updateErrors ?? []);
    }
  }

  #reconcile(
    statuses: Readonly<Record<string, PodStatus>>,
    updateErrors: readonly string[],
  ): object {
    const manager = this.#running;
    const updates: object[] = [];
    const success: object[] = [];
    const failure: object[] = [];
    const pods = this.#pods.list();
    manager.removeStale(staleContainers(pods));
    const planned = manager.planUpdates(pods, new Map(Object.entries(statuses)));
    for (const { ref, containerId, outcome } of planned) {
      const shown = {
        podName: this.#pods.get(ref.podUid).metadata.name,
        containerName: ref.container,
        containerID: containerId,
      };
      const fails = updateErrors.includes(containerId);
      if (outcome.kind === "update") {
        const error = fails ? { error: "update failed" } : {};
        updates.push({ containerID: containerId, cpusetCpus: cpuSetText(outcome.cpus), ...error });
        if (!fails) manager.noteApplied(ref, outcome.cpus);
      }
      const isFailure = outcome.kind === "unknown" || (outcome.kind === "update" && fails);
      (isFailure ? failure : success).push(shown);
    }
    return { updates, success, failure };
  }

  get #running(): CpuManager {
    if (this.#manager === undefined) throw new Error("the manager was not started");
    return this.#manager;
  }

  #state(): object {
    this.#file = this.#running.takeCheckpoint() ?? this.#file;
    const { shared, assignments } = this.#running.state;
    return {
      defaultCPUSet: cpuSetText(shared),
      assignments: Object.fromEntries(
        Array.from(assignments, ([podUid, ofPod]) => [
          podUid,
          Object.fromEntries(Array.from(ofPod, ([name, cpus]) => [name, cpuSetText(cpus)])),
        ]),
      ),
    };
  }

  file(): object {
    return {
      checkpoint: this.#file,
      checksumInput: cpuCheckpointDump(this.#policyName, this.#running.state),
    };
  }
}

function cpusOf(text: string): CpuSet {
  const parsed = parseCpuSet(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}
