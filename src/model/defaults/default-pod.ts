import type { Container, Pod, PodSpec } from "../generated/kubernetes.ts";
import { defaultContainer } from "./default-container.ts";
import {
  roundAmounts,
  withPodLevelResources,
  withRequestsFromLimits,
  withRoundedAmounts,
} from "./default-resources.ts";
import { defaultStatus } from "./default-status.ts";
import { defaultVolume } from "./default-volume.ts";

const defaultGraceSeconds = 30;

// They held init containers before these had a field of their own.
const droppedAnnotations: ReadonlySet<string> = new Set([
  "pod.beta.kubernetes.io/init-containers",
  "pod.alpha.kubernetes.io/init-containers",
  "pod.beta.kubernetes.io/init-container-statuses",
  "pod.alpha.kubernetes.io/init-container-statuses",
]);

/** A pod with a spec, as it comes from the decoder. */
export interface DecodedPod extends Pod {
  readonly spec: PodSpec;
}

/** Fills in everything that the API fills in when a pod says nothing about it. */
export function defaultPod(pod: DecodedPod): DecodedPod {
  const annotations = pod.metadata?.annotations;
  return {
    ...pod,
    ...(annotations === undefined
      ? {}
      : { metadata: { ...pod.metadata, annotations: withoutDropped(annotations) } }),
    spec: defaultSpec(pod.spec),
    ...(pod.status === undefined ? {} : { status: defaultStatus(pod.status) }),
  };
}

function defaultSpec(original: PodSpec): PodSpec {
  const spec = withPodLevelResources({
    ...original,
    ...mapContainers(original, withContainerRequests),
  });
  const grace = spec.terminationGracePeriodSeconds ?? defaultGraceSeconds;
  const account = spec.serviceAccountName ?? spec.serviceAccount;
  const resources = withRoundedAmounts(spec.resources);
  return {
    ...spec,
    enableServiceLinks: spec.enableServiceLinks ?? true,
    dnsPolicy: spec.dnsPolicy ?? "ClusterFirst",
    restartPolicy: spec.restartPolicy ?? "Always",
    securityContext: spec.securityContext ?? {},
    schedulerName: spec.schedulerName ?? "default-scheduler",
    terminationGracePeriodSeconds: grace < 0 ? 1 : grace,
    ...(account === undefined ? {} : { serviceAccountName: account, serviceAccount: account }),
    ...(spec.overhead === undefined ? {} : { overhead: roundAmounts(spec.overhead) }),
    ...(resources === undefined ? {} : { resources }),
    ...(spec.volumes === undefined ? {} : { volumes: spec.volumes.map(defaultVolume) }),
    ...mapContainers(spec, (container) =>
      defaultContainer(spec.hostNetwork === true ? withHostPorts(container) : container),
    ),
    ...(spec.ephemeralContainers === undefined
      ? {}
      : { ephemeralContainers: spec.ephemeralContainers.map(defaultContainer) }),
  };
}

function mapContainers(
  spec: PodSpec,
  change: (container: Container) => Container,
): Pick<PodSpec, "containers" | "initContainers"> {
  return {
    containers: spec.containers.map(change),
    ...(spec.initContainers === undefined
      ? {}
      : { initContainers: spec.initContainers.map(change) }),
  };
}

function withContainerRequests(container: Container): Container {
  const resources = withRequestsFromLimits(container.resources);
  return resources === undefined ? container : { ...container, resources };
}

/** On the host's network a port of a container is a port of the host. */
function withHostPorts(container: Container): Container {
  const { ports } = container;
  if (ports === undefined) return container;
  return {
    ...container,
    ports: ports.map((port) =>
      port.containerPort === 0 ? port : { ...port, hostPort: port.hostPort ?? port.containerPort },
    ),
  };
}

function withoutDropped(
  annotations: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(annotations).filter(([name]) => !droppedAnnotations.has(name)),
  );
}
