// Reasons that the API's users know: never change one.

export const containerStatusUnknown = "ContainerStatusUnknown";
export const restartingAllContainers = "RestartingAllContainers";
