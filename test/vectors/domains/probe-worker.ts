import type { ProbeSubject, ResultChange } from "../../../src/core/probe/probe-worker.ts";
import { ProbeWorker } from "../../../src/engine/probes/prober.ts";
import { formatTime } from "../../../src/lib/time.ts";
import type { ContainerStatus, PodStatus } from "../../../src/model/generated/kubernetes.ts";
import { findContainer, type Pod } from "../../../src/model/pod.ts";
import type { ProbeResult } from "../../../src/model/probe.ts";
import type { ProbeOutcome } from "../../../src/ports/probe-runner.ts";
import { loudFaults } from "../../kit/loud-faults.ts";
import { noMetrics } from "../../kit/no-metrics.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Step {
  readonly containerState: "running" | "waiting" | "terminated" | "nocontainer" | "nostatus";
  readonly containerID?: string;
  readonly phase: string;
  readonly probeOutcome: "success" | "warning" | "failure" | "unknown" | "error";
  readonly started?: boolean;
  readonly startedSecondsAgo?: number;
  readonly exitCode?: number;
}

interface Input {
  readonly pod: Pod;
  readonly containerName: string;
  readonly probeType: "Readiness" | "Liveness" | "Startup";
  readonly kubeletStartedSecondsAgo: number;
  readonly steps: readonly Step[];
}

const nowMs = 1_000_000_000;
const kinds = { Readiness: "readiness", Liveness: "liveness", Startup: "startup" } as const;

interface Output {
  readonly steps: readonly object[];
}

export const probeWorker: VectorDomain = vectorDomain<Input>("probe-worker", run, comparable);

async function run(input: Input): Promise<Output> {
  const { pod, containerName } = input;
  const kind = kinds[input.probeType];
  const found = findContainer(pod, containerName);
  const probe = found?.container[`${kind}Probe`];
  if (found === undefined || probe === undefined) throw new Error("no such probe");
  let current: Step | undefined;
  let probeAttempts = 0;
  const results = new Map<string, ProbeResult>();
  const prober = {
    has: () => true,
    keep: (_subject: ProbeSubject, changes: readonly ResultChange[]) => {
      for (const change of changes) {
        if (change.kind === "remove") results.delete(change.containerId);
        else results.set(change.containerId, change.result);
      }
    },
  };
  const agentStartedAtMs = nowMs - input.kubeletStartedSecondsAgo * 1000;
  const worker = new ProbeWorker(
    { kind, probe, pod, container: found.container, agentStartedAtMs },
    prober,
    {
      agentStartedAtMs,
      faults: loudFaults,
      clock: {
        nowMs: () => nowMs,
        monotonicMs: () => nowMs,
        startTimer: () => ({ stop: () => undefined }),
        sleep: () => Promise.resolve(),
      },
      random: () => 0,
      events: { record: () => undefined },
      metrics: noMetrics,
      statuses: {
        get: () => (current === undefined ? undefined : podStatus(input, found.kind, current)),
      },
      runner: {
        run: () => {
          probeAttempts++;
          return Promise.resolve(outcome(current?.probeOutcome ?? "error"));
        },
      },
    },
  );
  let containerId = "";
  const steps = [];
  for (const step of input.steps) {
    current = step;
    probeAttempts = 0;
    const keepGoing = await worker.probeOnce();
    containerId = step.containerID ?? containerId;
    const result = results.get(containerId) ?? null;
    steps.push({ keepGoing, probeAttempts, onHold: worker.onHold, result });
  }
  return { steps };
}

/**
 * The result is looked up by the id of the container in force. While a step shows no container that id may
 * already be the next one, which the input does not show: such a result cannot be compared.
 */
function comparable(value: unknown, { steps }: Input): unknown {
  const output = value as Output;
  return {
    steps: output.steps.map((step, index) => {
      if (steps[index]?.containerID !== undefined) return step;
      const before = steps.slice(0, index).findLast(({ containerID }) => containerID !== undefined);
      const after = steps.slice(index).find(({ containerID }) => containerID !== undefined);
      const isSame = before === undefined || before.containerID === after?.containerID;
      return isSame ? step : { ...step, result: "unknown" };
    }),
  };
}

function outcome(result: Step["probeOutcome"]): ProbeOutcome {
  return result === "error" ? { result, state: "unknown", output: "" } : { result, output: "" };
}

function podStatus({ containerName }: Input, kind: string, step: Step): PodStatus | undefined {
  if (step.containerState === "nostatus") return undefined;
  if (step.containerState === "nocontainer") return { phase: step.phase };
  const startedAt = formatTime(nowMs - (step.startedSecondsAgo ?? 0) * 1000);
  const states = {
    running: { running: { startedAt } },
    waiting: { waiting: {} },
    terminated: { terminated: { exitCode: step.exitCode ?? 0 } },
  };
  const status: ContainerStatus = {
    name: containerName,
    image: "",
    imageID: "",
    ready: false,
    restartCount: 0,
    containerID: step.containerID,
    started: step.started,
    state: states[step.containerState],
  };
  return kind === "init"
    ? { phase: step.phase, initContainerStatuses: [status] }
    : { phase: step.phase, containerStatuses: [status] };
}
