// Labels and annotations that the kubelet puts on sandboxes and containers. Wire format: never change one.

export const podNameLabel = "io.kubernetes.pod.name";
export const podNamespaceLabel = "io.kubernetes.pod.namespace";
export const podUidLabel = "io.kubernetes.pod.uid";
export const containerNameLabel = "io.kubernetes.container.name";

export const podDeletionGracePeriodAnnotation = "io.kubernetes.pod.deletionGracePeriod";
export const podTerminationGracePeriodAnnotation = "io.kubernetes.pod.terminationGracePeriod";
export const containerHashAnnotation = "io.kubernetes.container.hash";
export const containerRestartCountAnnotation = "io.kubernetes.container.restartCount";
export const containerTerminationMessagePathAnnotation =
  "io.kubernetes.container.terminationMessagePath";
export const containerTerminationMessagePolicyAnnotation =
  "io.kubernetes.container.terminationMessagePolicy";
export const containerPreStopHandlerAnnotation = "io.kubernetes.container.preStopHandler";
export const containerPortsAnnotation = "io.kubernetes.container.ports";
