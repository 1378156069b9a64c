// What this program is and which of its features are on, as metrics.
import { type FeatureGateState, isFeatureEnabled } from "../config/feature-gates.ts";
import { featureGates } from "../config/generated/feature-gates.ts";
import { berthVersion, kubernetesVersion } from "../lib/version.ts";
import type { Metrics } from "../ports/metrics.ts";

const [, major = "", minor = ""] = /^v(\d+)\.(\d+)/.exec(kubernetesVersion) ?? [];
const architectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

export function reportBuild(metrics: Metrics, gates: FeatureGateState): void {
  metrics.set("kubernetes_build_info", 1, {
    // Nothing was compiled, so nothing is known of when and how.
    build_date: "",
    compiler: "",
    git_commit: "",
    git_tree_state: "",
    go_version: "",
    git_version: `${kubernetesVersion}+berth-${berthVersion}`,
    major,
    minor,
    platform: `${process.platform}/${architectures[process.arch] ?? process.arch}`,
  });
  for (const [name, { stage }] of Object.entries(featureGates)) {
    const labels = { name, stage: stage === "GA" ? "" : stage };
    metrics.set("kubernetes_feature_enabled", isFeatureEnabled(gates, name) ? 1 : 0, labels);
  }
  // Berth reads cgroups itself, as a kubelet does without statistics of the runtime.
  metrics.set("kubelet_metrics_provider", 1, { provider: "cadvisor" });
}
