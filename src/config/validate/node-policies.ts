import { nanosecondsOf } from "../../lib/duration.ts";
import { quoteText } from "../../lib/go-text.ts";
import { labelValueProblems, qualifiedNameProblems } from "../../model/validate/names.ts";
import { isFeatureEnabled } from "../feature-gates.ts";
import type { Taint } from "../generated/kubelet-configuration.ts";
import { type Check, isOutside, shortFloat, when } from "./checked-config.ts";

const secondNs = 1_000_000_000n;
const topologyPolicies = ["none", "best-effort", "restricted", "single-numa-node"];
const topologyScopes = ["container", "pod"];
const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** The node's taints, topology, shutdown, swap and restarts. */
export const checkNodePolicies: Check = (checked) => [
  ...checkTaints(checked),
  ...checkTopology(checked),
  ...checkShutdown(checked),
  ...checkShutdownByPriority(checked),
  ...checkSwap(checked),
  ...checkRestartPeriod(checked),
];

const checkTaints: Check = ({ config }) =>
  (config.registerWithTaints ?? []).flatMap((taint) => [
    ...(isTaintFine(taint)
      ? []
      : [
          `invalid taint: {${taint.key} ${taint.value} ${taint.effect} ${shownTime(taint.timeAdded)}}`,
        ]),
    ...when(taint.timeAdded !== undefined, "taint.TimeAdded is not nil"),
  ]);

/** A time as Go prints one, of UTC. */
function shownTime(time: string | undefined): string {
  return time === undefined ? "<nil>" : `${time.replace("T", " ").replace("Z", "")} +0000 UTC`;
}

function isTaintFine({ key, value, effect }: Taint): boolean {
  return (
    qualifiedNameProblems(key).length === 0 &&
    labelValueProblems(value).length === 0 &&
    (effect === "" || taintEffects.includes(effect))
  );
}

const checkTopology: Check = ({ config }) => {
  const { topologyManagerPolicy: policy, topologyManagerScope: scope } = config;
  return [
    ...when(
      !topologyPolicies.includes(policy),
      `topologyManagerPolicy (--topology-manager-policy) ${quoteText(policy)} must be one of: [${topologyPolicies.map(quoteText).join(" ")}]`,
    ),
    ...when(
      !topologyScopes.includes(scope),
      `topologyManagerScope (--topology-manager-scope) ${quoteText(scope)} must be one of: "container", or "pod"`,
    ),
  ];
};

const checkShutdown: Check = ({ config, gates }) => {
  const { shutdownGracePeriod, shutdownGracePeriodCriticalPods } = config;
  const total = nanosecondsOf(shutdownGracePeriod);
  const critical = nanosecondsOf(shutdownGracePeriodCriticalPods);
  const totalText = `shutdownGracePeriod {${shutdownGracePeriod}}`;
  const criticalText = `shutdownGracePeriodCriticalPods {${shutdownGracePeriodCriticalPods}}`;
  if (!isFeatureEnabled(gates, "GracefulNodeShutdown")) {
    return when(
      total > 0n || critical > 0n,
      "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown",
    );
  }
  const size = "must be either zero or otherwise >= 1 sec";
  return [
    ...when(critical > total, `${criticalText} must be <= ${totalText}`),
    ...when(isShort(total), `${totalText} ${size}`),
    ...when(isShort(critical), `${criticalText} ${size}`),
  ];
};

function isShort(period: bigint): boolean {
  return period !== 0n && period < secondNs;
}

const checkShutdownByPriority: Check = ({ config, gates }) => {
  if ((config.shutdownGracePeriodByPodPriority ?? []).length === 0) return [];
  const isPlain =
    nanosecondsOf(config.shutdownGracePeriod) > 0n ||
    nanosecondsOf(config.shutdownGracePeriodCriticalPods) > 0n;
  const isOn = isFeatureEnabled(gates, "GracefulNodeShutdownBasedOnPodPriority");
  return [
    ...when(
      isOn && isPlain,
      "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time",
    ),
    ...when(
      !isOn,
      "Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority",
    ),
  ];
};

const checkSwap: Check = ({ config, gates }) => {
  const { swapBehavior } = config.memorySwap;
  if (!isFeatureEnabled(gates, "NodeSwap")) {
    return when(
      swapBehavior !== "",
      "memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled",
    );
  }
  return when(
    !["", "NoSwap", "LimitedSwap"].includes(swapBehavior),
    `memorySwap.swapBehavior ${quoteText(swapBehavior)} must be one of: "", "LimitedSwap" or "NoSwap"`,
  );
};

const checkRestartPeriod: Check = ({ config, gates }) => {
  const period = config.crashLoopBackOff.maxContainerRestartPeriod;
  if (!isFeatureEnabled(gates, "KubeletCrashLoopBackOffMax")) {
    return when(
      period !== undefined,
      "FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set",
    );
  }
  if (period === undefined) {
    return when(
      true,
      "FeatureGate KubeletCrashLoopBackOffMax is enabled, CrashLoopBackOff.MaxContainerRestartPeriod must be set",
    );
  }
  const ns = nanosecondsOf(period);
  const seconds = Number(ns / secondNs) + Number(ns % secondNs) / 1e9;
  return when(
    isOutside(Number(ns / 1_000_000n), 1000, 300_000),
    `CrashLoopBackOff.MaxContainerRestartPeriod (got: ${shortFloat(seconds)} seconds) must be set between 1s and 300s`,
  );
};
