/** The feature gates that change what Berth does, sorted. Of all others only the settings that need them depend on them. */
export const effectiveGates: readonly string[] = [
  "CPUManagerPolicyAlphaOptions",
  "CPUManagerPolicyBetaOptions",
  "ContainerStopSignals",
  "ExtendWebSocketsToKubelet",
  "GracefulNodeShutdown",
  "GracefulNodeShutdownBasedOnPodPriority",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScalingInitContainers",
  "KubeletCrashLoopBackOffMax",
  "KubeletEnsureSecretPulledImages",
  "KubeletInUserNamespace",
  "NodeDeclaredFeatures",
  "PodLogsQuerySplitStreams",
  "QOSReserved",
  "RestartAllContainersOnContainerExits",
  "UserNamespacesHostNetworkSupport",
];
