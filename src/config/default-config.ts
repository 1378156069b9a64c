import { err, ok, type Result } from "../lib/result.ts";
import { joinErrors } from "./error-list.ts";
import { type FeatureGateState, isFeatureEnabled, setFeatureGates } from "./feature-gates.ts";
import type {
  KubeletConfiguration,
  KubeletConfigurationFile,
} from "./generated/kubelet-configuration.ts";

/** What a field is when a file does not mention it. */
const whenUnset = {
  enableServer: true,
  registryPullQPS: 5,
  eventRecordQPS: 50,
  enableDebuggingHandlers: true,
  healthzPort: 10248,
  oomScoreAdj: -999,
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
  cgroupsPerQOS: true,
  resolvConf: "/etc/resolv.conf",
  cpuCFSQuota: true,
  cpuCFSQuotaPeriod: "100ms",
  nodeStatusMaxImages: 50,
  kubeAPIQPS: 50,
  mergeDefaultEvictionSettings: false,
  enableControllerAttachDetach: true,
  makeIPTablesUtilChains: true,
  iptablesMasqueradeBit: 14,
  iptablesDropBit: 15,
  failSwapOn: true,
  containerLogMaxFiles: 5,
  containerLogMaxWorkers: 1,
  containerLogMonitorInterval: "10s",
  enforceNodeAllocatable: ["pods"],
  enableSystemLogHandler: true,
  enableSystemLogQuery: false,
  enableProfilingHandler: true,
  enableDebugFlagsHandler: true,
  seccompDefault: false,
  failCgroupV1: true,
  memoryThrottlingFactor: 0.9,
  registerNode: true,
  localStorageCapacityIsolation: true,
} satisfies Partial<KubeletConfiguration>;

/** What a field is when a file does not mention it or says zero. */
const whenZero = {
  syncFrequency: "1m0s",
  fileCheckFrequency: "20s",
  httpCheckFrequency: "20s",
  address: "0.0.0.0",
  port: 10250,
  registryBurst: 10,
  eventBurst: 100,
  healthzBindAddress: "127.0.0.1",
  streamingConnectionIdleTimeout: "4h0m0s",
  nodeStatusUpdateFrequency: "10s",
  nodeLeaseDurationSeconds: 40,
  imageMinimumGCAge: "2m0s",
  volumeStatsAggPeriod: "1m0s",
  cgroupDriver: "cgroupfs",
  cpuManagerPolicy: "none",
  cpuManagerReconcilePeriod: "10s",
  memoryManagerPolicy: "None",
  topologyManagerPolicy: "none",
  topologyManagerScope: "container",
  runtimeRequestTimeout: "2m0s",
  hairpinMode: "promiscuous-bridge",
  maxPods: 110,
  maxOpenFiles: 1_000_000,
  contentType: "application/vnd.kubernetes.protobuf",
  kubeAPIBurst: 100,
  evictionPressureTransitionPeriod: "5m0s",
  containerLogMaxSize: "10Mi",
  configMapAndSecretChangeDetectionStrategy: "Watch",
  volumePluginDir: "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/",
  memoryReservationPolicy: "None",
  containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
  podLogsDir: "/var/log/pods",
} satisfies Partial<KubeletConfiguration>;

const maxRestartPeriod = "5m0s";

/** Fills in what a file leaves open. The error: its feature gates cannot be set. */
export function defaultConfig(
  file: KubeletConfigurationFile,
  gates: FeatureGateState,
): Result<KubeletConfiguration, string> {
  const local = setFeatureGates(gates, file.featureGates);
  if (!local.ok) {
    return err(
      `failed to merge global and in-flight KubeletConfiguration while setting defaults, error: ${joinErrors(local.error)}`,
    );
  }
  return ok({
    ...file,
    ...filled<keyof typeof whenUnset>(file, whenUnset, (value) => value === undefined),
    ...filled<keyof typeof whenZero>(file, whenZero, isZero),
    ...defaultAccess(file),
    ...defaultGated(file, local.value),
    nodeStatusReportFrequency: reportFrequency(file),
    podPidsLimit: Math.max(file.podPidsLimit ?? -1, -1),
    serializeImagePulls: file.serializeImagePulls ?? (file.maxParallelImagePulls ?? 0) < 2,
    logging: defaultLogging(file.logging),
  });
}

/** Each default, or the file's own value where it has one. */
function filled<Name extends keyof KubeletConfiguration>(
  file: { readonly [Key in Name]: KubeletConfiguration[Key] | undefined },
  defaults: Pick<KubeletConfiguration, Name>,
  isMissing: (value: unknown) => boolean,
): Pick<KubeletConfiguration, Name> {
  const result: { -readonly [Key in Name]: KubeletConfiguration[Key] } = { ...defaults };
  for (const key in defaults) {
    const value = file[key];
    if (value !== undefined && !isMissing(value)) result[key] = value;
  }
  return result;
}

function isZero(value: unknown): boolean {
  return value === undefined || value === "" || value === 0 || value === "0s";
}

function defaultAccess(
  file: KubeletConfigurationFile,
): Pick<KubeletConfiguration, "authentication" | "authorization"> {
  const { authentication, authorization } = file;
  const { webhook } = authorization;
  return {
    authentication: {
      ...authentication,
      anonymous: { enabled: authentication.anonymous.enabled ?? false },
      webhook: {
        enabled: authentication.webhook.enabled ?? true,
        cacheTTL: nonZero(authentication.webhook.cacheTTL, "2m0s"),
      },
    },
    authorization: {
      mode: nonZero(authorization.mode, "Webhook"),
      webhook: {
        cacheAuthorizedTTL: nonZero(webhook.cacheAuthorizedTTL, "5m0s"),
        cacheUnauthorizedTTL: nonZero(webhook.cacheUnauthorizedTTL, "30s"),
      },
    },
  };
}

/** Defaults that there are only while a feature is on. */
function defaultGated(
  file: KubeletConfigurationFile,
  gates: FeatureGateState,
): Pick<KubeletConfiguration, "crashLoopBackOff" | "imagePullCredentialsVerificationPolicy"> {
  const { maxContainerRestartPeriod } = file.crashLoopBackOff;
  const limitsRestarts = isFeatureEnabled(gates, "KubeletCrashLoopBackOffMax");
  const verifiesImages = isFeatureEnabled(gates, "KubeletEnsureSecretPulledImages");
  return {
    crashLoopBackOff: {
      maxContainerRestartPeriod:
        maxContainerRestartPeriod ?? (limitsRestarts ? maxRestartPeriod : undefined),
    },
    imagePullCredentialsVerificationPolicy: nonZero(
      file.imagePullCredentialsVerificationPolicy,
      verifiesImages ? "NeverVerifyPreloadedImages" : "",
    ),
  };
}

/** An update frequency without a report frequency sets both. */
function reportFrequency(file: KubeletConfigurationFile): string {
  const { nodeStatusReportFrequency, nodeStatusUpdateFrequency } = file;
  return nonZero(nodeStatusReportFrequency, nonZero(nodeStatusUpdateFrequency, "5m0s"));
}

function defaultLogging(
  logging: KubeletConfigurationFile["logging"],
): KubeletConfiguration["logging"] {
  return {
    ...logging,
    format: nonZero(logging.format, "text"),
    flushFrequency: isZero(logging.flushFrequency) ? "5s" : logging.flushFrequency,
  };
}

function nonZero(value: string, fallback: string): string {
  return isZero(value) ? fallback : value;
}
