import { parseJsonText } from "../../lib/json-text.ts";
import type { ContainerPort, LifecycleHandler } from "../../model/generated/kubernetes.ts";
import { rawContainerId } from "../../model/ids.ts";
import {
  containerPortsAnnotation,
  containerPreStopHandlerAnnotation,
  podDeletionGracePeriodAnnotation,
  podTerminationGracePeriodAnnotation,
} from "../../model/labels.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { unlessGone } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";

/** As much of a pod's spec as stopping it needs, from what its containers' annotations remember. */
export async function restorePod(
  runtime: Pick<ContainerRuntime, "containerStatus">,
  observed: ObservedPod,
  signal: AbortSignal,
): Promise<Pod> {
  const { uid, name, namespace } = observed;
  const running = observed.containers.filter(({ state }) => state === "running");
  const annotations = await Promise.all(
    running.map(async ({ id }) => {
      const answer = await unlessGone(runtime.containerStatus(rawContainerId(id), signal));
      return answer?.status?.annotations ?? {};
    }),
  );
  const [first = {}] = annotations;
  return {
    metadata: {
      uid,
      name,
      namespace,
      deletionGracePeriodSeconds: seconds(first[podDeletionGracePeriodAnnotation]),
    },
    spec: {
      terminationGracePeriodSeconds: seconds(first[podTerminationGracePeriodAnnotation]),
      containers: running.map((container, index) => ({
        name: container.name,
        // A hook may name its port.
        ports: parsed(annotations[index]?.[containerPortsAnnotation]) as
          | ContainerPort[]
          | undefined,
        lifecycle: preStopOf(annotations[index]?.[containerPreStopHandlerAnnotation]),
      })),
    },
  };
}

function seconds(text: string | undefined): number | undefined {
  const value = Number(text);
  return text === undefined || !Number.isInteger(value) ? undefined : value;
}

function preStopOf(text: string | undefined): { preStop: LifecycleHandler } | undefined {
  const preStop = parsed(text) as LifecycleHandler | undefined;
  return preStop && { preStop };
}

/** What an agent has stored; undefined when there is nothing, or nothing that can be read. */
function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}
