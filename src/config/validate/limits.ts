import { nanosecondsOf } from "../../lib/duration.ts";
import { isFeatureEnabled } from "../feature-gates.ts";
import { type Check, isOutside, when } from "./checked-config.ts";

const millisecondNs = 1_000_000n;
const secondNs = 1_000_000_000n;

/** Numbers and durations that have a range. */
export const checkLimits: Check = (checked) => [
  ...checkNode(checked),
  ...checkCpuPeriod(checked),
  ...checkImageCollection(checked),
  ...checkNetwork(checked),
  ...checkPods(checked),
  ...checkPulls(checked),
];

const checkNode: Check = ({ config }) => [
  ...when(config.nodeLeaseDurationSeconds <= 0, "nodeLeaseDurationSeconds must be greater than 0"),
  ...when(
    config.systemCgroups !== "" && config.cgroupRoot === "",
    "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified",
  ),
  ...notNegative("eventBurst (--event-burst)", config.eventBurst),
  ...notNegative("eventRecordQPS (--event-qps)", config.eventRecordQPS),
  ...when(
    config.healthzPort !== 0 && isOutside(config.healthzPort, 1, 65535),
    `healthzPort (--healthz-port) ${config.healthzPort} must be between 1 and 65535, inclusive`,
  ),
];

const checkCpuPeriod: Check = ({ config, gates }) => {
  const { cpuCFSQuotaPeriod } = config;
  const isFree = isFeatureEnabled(gates, "CustomCPUCFSQuotaPeriod");
  const period = nanosecondsOf(cpuCFSQuotaPeriod);
  const subject = `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {${cpuCFSQuotaPeriod}}`;
  return [
    ...when(
      !isFree && period !== 100n * millisecondNs,
      `${subject} requires feature gate CustomCPUCFSQuotaPeriod`,
    ),
    ...when(
      isFree && (period < millisecondNs || period > secondNs),
      `${subject} must be between 1ms and 1sec, inclusive`,
    ),
  ];
};

const checkImageCollection: Check = ({ config, gates }) => {
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = config;
  const highText = "imageGCHighThresholdPercent (--image-gc-high-threshold)";
  const lowText = "imageGCLowThresholdPercent (--image-gc-low-threshold)";
  const minimum = nanosecondsOf(config.imageMinimumGCAge);
  const maximum = nanosecondsOf(config.imageMaximumGCAge);
  return [
    ...when(isOutside(high, 0, 100), `${highText} ${high} must be between 0 and 100, inclusive`),
    ...when(isOutside(low, 0, 100), `${lowText} ${low} must be between 0 and 100, inclusive`),
    ...when(low >= high, `${lowText} ${low} must be less than ${highText} ${high}`),
    ...when(
      maximum !== 0n && !isFeatureEnabled(gates, "ImageMaximumGCAge"),
      "ImageMaximumGCAge feature gate is required for Kubelet configuration option imageMaximumGCAge",
    ),
    ...when(minimum < 0n, `imageMinimumGCAge ${config.imageMinimumGCAge} must not be negative`),
    ...when(maximum < 0n, `imageMaximumGCAge ${config.imageMaximumGCAge} must not be negative`),
    ...when(
      maximum > 0n && maximum <= minimum,
      `imageMaximumGCAge ${config.imageMaximumGCAge} must be greater than imageMinimumGCAge ${config.imageMinimumGCAge}`,
    ),
  ];
};

const checkNetwork: Check = ({ config }) => [
  ...inRange("iptablesDropBit (--iptables-drop-bit)", config.iptablesDropBit, 0, 31),
  ...inRange(
    "iptablesMasqueradeBit (--iptables-masquerade-bit)",
    config.iptablesMasqueradeBit,
    0,
    31,
  ),
  ...notNegative("kubeAPIBurst (--kube-api-burst)", config.kubeAPIBurst),
  ...notNegative("kubeAPIQPS (--kube-api-qps)", config.kubeAPIQPS),
];

const checkPods: Check = ({ config }) => [
  ...when(
    config.nodeStatusMaxImages < -1,
    `nodeStatusMaxImages (--node-status-max-images) ${config.nodeStatusMaxImages} must be -1 or greater`,
  ),
  ...notNegative("maxOpenFiles (--max-open-files)", config.maxOpenFiles),
  ...notNegative("maxPods (--max-pods)", config.maxPods),
  ...inRange("oomScoreAdj (--oom-score-adj)", config.oomScoreAdj, -1000, 1000),
  ...notNegative("podsPerCore (--pods-per-core)", config.podsPerCore),
  ...inRange("port (--port)", config.port, 1, 65535),
  ...inRange("readOnlyPort (--read-only-port)", config.readOnlyPort, 0, 65535),
];

const checkPulls: Check = ({ config, gates }) => {
  const parallel = config.maxParallelImagePulls;
  return [
    ...notNegative("registryBurst (--registry-burst)", config.registryBurst),
    ...notNegative("registryPullQPS (--registry-qps)", config.registryPullQPS),
    ...when(
      parallel !== undefined && parallel < 1,
      `maxParallelImagePulls ${parallel} must be a positive number`,
    ),
    ...when(
      config.serializeImagePulls && parallel !== undefined && parallel > 1,
      "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false",
    ),
    ...when(
      config.serverTLSBootstrap && !isFeatureEnabled(gates, "RotateKubeletServerCertificate"),
      "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate",
    ),
    ...when(
      config.runOnce,
      "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set",
    ),
  ];
};

function notNegative(subject: string, value: number): readonly string[] {
  return when(value < 0, `${subject} ${value} must not be a negative number`);
}

function inRange(subject: string, value: number, least: number, most: number): readonly string[] {
  return when(
    isOutside(value, least, most),
    `${subject} ${value} must be between ${least} and ${most}, inclusive`,
  );
}
