/** Features that a node declares when their gates are on. */
const gatedFeatures = [
  "ExtendWebSocketsToKubelet",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScalingInitContainers",
  "RestartAllContainersOnContainerExits",
];

/** What a node declares that pods may need of it, sorted. */
export function nodeDeclaredFeatures(
  isEnabled: (gate: string) => boolean,
  runtimeHasUserNamespacesOnHostNetwork: boolean,
): readonly string[] {
  if (!isEnabled("NodeDeclaredFeatures")) return [];
  const hostNetwork = "UserNamespacesHostNetworkSupport";
  return [
    ...gatedFeatures.filter(isEnabled),
    ...(runtimeHasUserNamespacesOnHostNetwork && isEnabled(hostNetwork) ? [hostNetwork] : []),
  ];
}
