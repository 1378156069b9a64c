import { nanosecondsOf } from "../../lib/duration.ts";
import { quoteText } from "../../lib/go-text.ts";
import { cleanPath } from "../../lib/path.ts";
import { joinErrors } from "../error-list.ts";
import { type FeatureGateState, isFeatureEnabled, setFeatureGates } from "../feature-gates.ts";
import type { KubeletConfiguration } from "../generated/kubelet-configuration.ts";
import { type Check, shortFloat, when } from "./checked-config.ts";
import { checkImageVerification } from "./images.ts";
import { checkLimits } from "./limits.ts";
import { checkNodePolicies } from "./node-policies.ts";
import { checkObservability } from "./observability.ts";
import { checkEnforcement, checkReservedResources } from "./reservations.ts";

const userNamespaceUnit = 65536;
const hairpinModes = ["none", "hairpin-veth", "promiscuous-bridge"];

/** Everything that is wrong with a configuration on a host with such cgroups, in a fixed order. */
export function validateConfig(
  config: KubeletConfiguration,
  gates: FeatureGateState,
  cgroupVersion: 1 | 2,
): readonly string[] {
  const local = setFeatureGates(gates, config.featureGates);
  if (!local.ok) return [joinErrors(local.error)];
  const checked = { config, gates: local.value, cgroupVersion };
  return checks.flatMap((check) => check(checked));
}

const checkHairpin: Check = ({ config }) =>
  when(
    !hairpinModes.includes(config.hairpinMode),
    `option ${quoteText(config.hairpinMode)} specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"`,
  );

/** Only the first problem of the host is reported. */
const checkHost: Check = ({ config, cgroupVersion }) => {
  const ids = config.userNamespaces?.idsPerPod;
  if (cgroupVersion === 1 && config.failCgroupV1) {
    return [
      "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release",
    ];
  }
  if (cgroupVersion === 1 && config.singleProcessOOMKill === false) {
    return when(
      true,
      "singleProcessOOMKill must not be explicitly set to false when using cgroup v1",
    );
  }
  if (ids === undefined) return [];
  const field = "userNamespaces.idsPerPod";
  if (ids < userNamespaceUnit) {
    return when(true, `${field} must not be less than ${userNamespaceUnit}`);
  }
  if (ids % userNamespaceUnit !== 0) {
    return when(true, `${field} must be a multiple of ${userNamespaceUnit}`);
  }
  return when(ids > 2 ** 32 - 1, `${field} must not be more than ${2 ** 32 - 1}`);
};

const checkMemoryPolicies: Check = ({ config, gates }) => {
  const { memoryThrottlingFactor: factor, memoryReservationPolicy: policy } = config;
  const hasMemoryQos = isFeatureEnabled(gates, "MemoryQoS");
  return [
    ...when(
      hasMemoryQos && factor === undefined,
      "memoryThrottlingFactor is required when MemoryQoS feature flag is enabled",
    ),
    ...when(
      factor !== undefined && (factor <= 0 || factor > 1),
      `memoryThrottlingFactor ${shortFloat(factor ?? 0)} must be greater than 0 and less than or equal to 1.0`,
    ),
    ...when(
      !hasMemoryQos && policy === "TieredReservation",
      `memoryReservationPolicy ${quoteText(policy)} requires MemoryQoS feature gate to be enabled`,
    ),
    ...when(
      policy !== "None" && policy !== "TieredReservation",
      `option ${quoteText(policy)} specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"`,
    ),
  ];
};

const checkRuntime: Check = ({ config, gates }) => [
  ...when(
    config.containerRuntimeEndpoint === "",
    "the containerRuntimeEndpoint was not specified or empty",
  ),
  ...when(
    config.enableSystemLogQuery && !isFeatureEnabled(gates, "NodeLogQuery"),
    "NodeLogQuery feature gate is required for enableSystemLogQuery",
  ),
  ...when(
    config.enableSystemLogQuery && !config.enableSystemLogHandler,
    "enableSystemLogHandler is required for enableSystemLogQuery",
  ),
];

const checkContainerLogs: Check = ({ config }) => {
  const path = config.podLogsDir;
  const shown = `pod logs path ${quoteText(path)}`;
  return [
    ...when(
      config.containerLogMaxWorkers < 1,
      "containerLogMaxWorkers must be greater than or equal to 1",
    ),
    ...when(
      nanosecondsOf(config.containerLogMonitorInterval) < 3_000_000_000n,
      "containerLogMonitorInterval must be a positive time duration greater than or equal to 3s",
    ),
    ...when(config.containerLogMaxFiles <= 1, "containerLogMaxFiles must be greater than 1"),
    ...when(path === "", "podLogsDir was not specified"),
    ...when(!path.startsWith("/"), `${shown} must be absolute path`),
    ...when(cleanPath(path) !== path, `${shown} must be normalized`),
    ...when(
      Array.from(path).some((character) => character > "\u007f"),
      `${shown} mut contains ASCII characters only`,
    ),
  ];
};

const checks: readonly Check[] = [
  checkLimits,
  checkNodePolicies,
  checkEnforcement,
  checkHairpin,
  checkImageVerification,
  checkReservedResources,
  checkHost,
  checkObservability,
  checkMemoryPolicies,
  checkRuntime,
  checkContainerLogs,
];
