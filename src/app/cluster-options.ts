import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import type { ClusterSettings } from "../engine/cluster/cluster-settings.ts";
import { SetupError } from "../lib/setup-error.ts";

const strategies = ["Watch", "Cache", "Get"] as const;

/** How the node treats its API server. Throws a SetupError that names the field. */
export function clusterSettings(
  config: Pick<
    KubeletConfiguration,
    "eventRecordQPS" | "eventBurst" | "configMapAndSecretChangeDetectionStrategy"
  >,
): ClusterSettings {
  const { eventRecordQPS, eventBurst } = config;
  const asked = config.configMapAndSecretChangeDetectionStrategy;
  const changeDetection = strategies.find((strategy) => strategy === asked);
  if (changeDetection === undefined) {
    throw new SetupError(
      `configMapAndSecretChangeDetectionStrategy: "${asked}" is unknown`,
      `set one of ${strategies.join(", ")}`,
    );
  }
  return { eventsPerSecond: eventRecordQPS, eventBurst, changeDetection };
}
