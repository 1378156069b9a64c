import {
  backoffKey,
  countRestart,
  type RestartHistory,
  restartBackoff,
} from "../../../src/core/restart/crash-loop-backoff.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { buildPod } from "../../kit/pods.ts";
import { decodePodStatus, type EncodedContainerStatus } from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly initialSeconds: number;
  readonly maxSeconds: number;
  readonly pod: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly container: string;
  };
  readonly steps: readonly Attempt[];
}

interface Attempt {
  readonly now: number;
  readonly finishedAt?: number;
  readonly image: string;
  readonly containerState: EncodedContainerStatus["state"] | "none";
}

export const crashloopBackoff: VectorDomain = vectorDomain<Input>("crashloop-backoff", (input) => {
  const limits = { initialMs: input.initialSeconds * 1000, maxMs: input.maxSeconds * 1000 };
  let history: RestartHistory = new Map();
  const steps = input.steps.map((step) => {
    const container = { name: input.pod.container, image: step.image };
    const pod: Pod = buildPod({ metadata: input.pod, spec: { containers: [container] } });
    const observed = decodePodStatus({
      id: input.pod.uid,
      name: input.pod.name,
      namespace: input.pod.namespace,
      containerStatuses: containerStatuses(container.name, step),
    });
    const decision = restartBackoff(
      history,
      { pod, container, observed, nowMs: step.now * 1000 },
      limits,
    );
    if (decision.kind === "start" && decision.nextDelayMs !== undefined) {
      const started = { pod, container, nowMs: step.now * 1000 };
      history = countRestart(history, started, decision.nextDelayMs);
    }
    return {
      backoffSeconds: (history.get(backoffKey(pod, container))?.delayMs ?? 0) / 1000,
      ...(decision.kind === "start"
        ? { inBackOff: false, message: "" }
        : {
            inBackOff: true,
            message: decision.message,
            error: "CrashLoopBackOff",
            retryAtSecond: decision.untilMs / 1000,
          }),
    };
  });
  return { steps };
});

function containerStatuses(name: string, step: Attempt): EncodedContainerStatus[] {
  if (step.containerState === "none") return [];
  const finishedAt =
    step.finishedAt === undefined
      ? {}
      : { finishedAt: new Date(step.finishedAt * 1000).toISOString() };
  return [
    {
      id: "containerd://1",
      name,
      state: step.containerState,
      exitCode: 1,
      restartCount: 0,
      hash: "",
      ...finishedAt,
    },
  ];
}
