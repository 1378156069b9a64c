/** Berth's own version; a test keeps it equal to the package's. */
export const berthVersion = "0.1.0";

/** The release of Kubernetes whose kubelet Berth stands in for. */
export const kubernetesVersion = "v1.36.4";

// Set by the build; not where the source itself runs.
declare const BERTH_COMMIT: string | undefined;
declare const BERTH_BUILT_AS: string | undefined;

/** What this program was built from. */
export const berthCommit: string = typeof BERTH_COMMIT === "string" ? BERTH_COMMIT : "unknown";

/** How it came here: a clone, the npm package, the Debian package. */
export const berthBuiltAs: string =
  typeof BERTH_BUILT_AS === "string" ? BERTH_BUILT_AS : "the source";
