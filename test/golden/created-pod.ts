import type {
  Container,
  PodCondition,
  ResourceRequirements,
} from "../../src/model/generated/kubernetes.ts";
import { podUid } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { RecordedPod } from "./recording.ts";

/**
 * A pod as the API server had it when it was bound to its node: as it was `shown` at its end, with what was `sent`
 * where that changed meanwhile. Some pods were made for their node, and no scheduler has seen them.
 */
export function createdPod(shown: RecordedPod, sent: RecordedPod, isScheduled: boolean): Pod {
  const { name, namespace = "", uid = "", annotations, creationTimestamp } = shown.metadata;
  const { spec } = shown;
  const created = (container: Container): Container => ({
    ...container,
    image: sentContainer(sent, container.name)?.image ?? container.image,
    resources: createdResources(
      container.resources,
      sentContainer(sent, container.name)?.resources,
    ),
  });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      uid: podUid(uid),
      labels: sent.metadata.labels,
      annotations,
      creationTimestamp,
      generation: 1,
    },
    spec: {
      ...spec,
      resources: createdResources(spec.resources, sent.spec.resources),
      initContainers: spec.initContainers?.map(created),
      containers: spec.containers.map(created),
      ephemeralContainers: undefined,
    },
    status: {
      phase: "Pending",
      qosClass: shown.status?.qosClass,
      conditions: isScheduled ? [scheduled(creationTimestamp)] : undefined,
    },
  };
}

/** What the scheduler says when it has bound a pod. */
function scheduled(lastTransitionTime: string | undefined): PodCondition {
  return { type: "PodScheduled", status: "True", lastProbeTime: undefined, lastTransitionTime };
}

function sentContainer({ spec }: RecordedPod, container: string): Container | undefined {
  return [...spec.containers, ...(spec.initContainers ?? [])].find(
    ({ name }) => name === container,
  );
}

/** A resize changed what was sent; what the API server added stayed. */
function createdResources(
  shown: ResourceRequirements | undefined,
  sent: ResourceRequirements | undefined,
): ResourceRequirements | undefined {
  if (shown === undefined || sent === undefined) return shown;
  return {
    ...shown,
    requests: shown.requests && { ...shown.requests, ...sent.requests },
    limits: shown.limits && { ...shown.limits, ...sent.limits },
  };
}
