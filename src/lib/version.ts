/** Berth's own version; a test keeps it equal to the package's. */
export const berthVersion = "0.1.0";

/** The release of Kubernetes whose kubelet Berth stands in for. */
export const kubernetesVersion = "v1.36.4";
