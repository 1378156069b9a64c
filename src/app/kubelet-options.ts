// What a kubelet's configuration means for the agent.

import { isAbsolute, join, resolve } from "node:path";
import { isFeatureEnabled } from "../config/feature-gates.ts";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import type { PodUserSettings } from "../core/cri/user-namespace.ts";
import { dockerConfigFiles } from "../core/image/docker-config.ts";
import type { NodeDns } from "../core/network/dns-config.ts";
import { createFileSource } from "../drivers/manifest/file-source.ts";
import { createHttpSource } from "../drivers/manifest/http-source.ts";
import type { ClusterSettings } from "../engine/cluster/cluster-settings.ts";
import { millisecondsOf } from "../lib/duration.ts";
import { parseIpAddress } from "../lib/ip-address.ts";
import { SetupError } from "../lib/setup-error.ts";
import { trimEndOf } from "../lib/trim-text.ts";
import type { PodSource } from "../ports/pod-source.ts";
import type { AgentOptions, AgentTuning } from "./create-agent.ts";
import { kubeletFolder } from "./data-layout.ts";
import { kubeletEviction } from "./eviction-options.ts";
import { historyVariables, parseHistory } from "./history-options.ts";
import { type ImageSetup, imageVerification, parseImageOptions } from "./image-options.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";
import { parseLogRotation } from "./log-rotation-options.ts";
import { kubeletManagerOptions, withReservedCpus } from "./manager-options.ts";
import { kubeletMemoryQos } from "./memory-qos-options.ts";
import { kubeletNodeCgroups, kubeletShutdownPeriods } from "./node-cgroups.ts";
import { defaultNodeName, readHostIps, readResolverConfig } from "./node-facts.ts";
import { kubeletNodeSettings, parseNodeIps } from "./node-options.ts";
import { foreignFilesProgram } from "./program-parts.ts";
import { parseSecurity } from "./security-options.ts";
import { seLinuxNode } from "./selinux-node.ts";

const defaultRootDir = "/var/lib/kubelet";
/** A kubelet's flags and configuration have no place for it. */
const devicePluginVariable = "BERTH_DEVICE_PLUGINS";

/** The root folder that the flags name. */
export function kubeletRootDir({ settings }: KubeletSetup): string {
  return resolve(settings.get("root-dir") ?? defaultRootDir);
}

/**
 * As with a kubelet the same on every node, whatever its root folder is: plugins know it by name. Agents that share a
 * machine need one each.
 */
export function devicePluginFolder(
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const given = environment[devicePluginVariable] ?? "";
  if (given === "") return join(defaultRootDir, "device-plugins");
  if (isAbsolute(given)) return given;
  throw new SetupError(
    `${devicePluginVariable}: "${given}" is not an absolute path`,
    "give one that begins with /, or leave it out",
  );
}

/** Everything of the agent but its runtime and its log. Throws a SetupError that names the field or flag. */
export function kubeletAgentOptions(
  given: KubeletSetup,
  rootDir: string,
  users: PodUserSettings,
): Omit<AgentOptions, "runtime" | "telemetry"> {
  const setup = { ...given, config: withReservedCpus(given.config) };
  const { config, settings } = setup;
  const nodeName = nodeNameOf(settings);
  const nodeIps = nodeAddresses(settings.get("node-ip") ?? "");
  return {
    place: {
      dataDir: rootDir,
      layout: {
        rootFolder: rootDir,
        devicePlugins: devicePluginFolder(process.env),
        podLogs: config.podLogsDir,
        records: join(rootDir, kubeletFolder, "records"),
        volumes: join(rootDir, kubeletFolder, "volumes"),
      },
      nodeName,
      foreignFilesProgram,
      cgroupRoot: `/${trimEndOf(config.cgroupRoot, "/").replace(/^\/+/, "")}`,
      cgroupDriver: config.cgroupDriver === "systemd" ? "systemd" : "cgroupfs",
    },
    runtimeEndpoint: config.containerRuntimeEndpoint,
    sources: podSources(setup, nodeName),
    rules: {
      logRotation: {
        ...parseLogRotation({
          containerLogMaxSize: config.containerLogMaxSize,
          containerLogMaxFiles: String(config.containerLogMaxFiles),
        }),
        intervalMs: millisecondsOf(config.containerLogMonitorInterval),
        workers: config.containerLogMaxWorkers,
      },
      images: imageSetup(setup),
      history: parseHistory(
        {
          historyMaxSize: process.env[historyVariables.historyMaxSize],
          historyMaxAge: process.env[historyVariables.historyMaxAge],
        },
        historyVariables,
      ),
      eviction: kubeletEviction(config, {
        ignoresAllocatable: settings.get("experimental-allocatable-ignore-eviction") === "true",
      }),
      security: parseSecurity({
        allowedUnsafeSysctls: (config.allowedUnsafeSysctls ?? []).join(","),
        seccompDefault: config.seccompDefault || settings.get("seccomp-default") === "true",
      }),
    },
    nodeFacts: {
      clusterDomain: config.clusterDomain,
      hostIps: nodeIps,
      readNodeDns: () => readNodeDns(config, nodeIps),
    },
    tuning: agentTuning(setup, { nodeName, rootDir, users }),
  };
}

function nodeNameOf(settings: KubeletSetup["settings"]): string {
  const name = (settings.get("hostname-override") || defaultNodeName()).trim().toLowerCase();
  if (name !== "") return name;
  throw new SetupError("empty hostname is invalid", "correct --hostname-override, or leave it out");
}

function podSources({ config, settings }: KubeletSetup, nodeName: string): readonly PodSource[] {
  const { staticPodPath, staticPodURL, staticPodURLHeader = {} } = config;
  if (staticPodPath === "" && staticPodURL === "" && !joinsCluster(settings)) {
    throw new SetupError(
      "there is nothing to run: there is no API server, staticPodPath or staticPodURL",
      "set one of them (--kubeconfig, --pod-manifest-path, --manifest-url)",
    );
  }
  const file = createFileSource({
    path: resolve(staticPodPath),
    nodeName,
    mode: "kubelet",
    rescanMs: millisecondsOf(config.fileCheckFrequency),
  });
  const url = createHttpSource({
    url: staticPodURL,
    headers: staticPodURLHeader,
    nodeName,
    mode: "kubelet",
    frequencyMs: millisecondsOf(config.httpCheckFrequency),
  });
  return [...(staticPodPath === "" ? [] : [file]), ...(staticPodURL === "" ? [] : [url])];
}

/** Without a kubeconfig the node belongs to no cluster, and runs static pods only. */
function joinsCluster(settings: KubeletSetup["settings"]): boolean {
  return ["kubeconfig", "bootstrap-kubeconfig"].some((flag) => (settings.get(flag) ?? "") !== "");
}

function imageSetup({ config, settings, gates }: KubeletSetup): ImageSetup {
  const { serializeImagePulls, maxParallelImagePulls, registryPullQPS, registryBurst } = config;
  const tokens = "KubeletServiceAccountTokenForCredentialProviders";
  const setup = parseImageOptions(
    {
      credentialProviderConfig: settings.get("image-credential-provider-config") || undefined,
      credentialProviderBinDir: settings.get("image-credential-provider-bin-dir") || undefined,
    },
    isFeatureEnabled(gates, tokens) ? undefined : `needs the feature gate ${tokens}`,
  );
  const maxParallel = serializeImagePulls ? 1 : maxParallelImagePulls;
  return {
    ...setup,
    pulls: { maxParallel, perSecond: registryPullQPS, burst: registryBurst },
    verification: imageVerification(config),
  };
}

interface TuningFacts {
  readonly nodeName: string;
  readonly rootDir: string;
  readonly users: PodUserSettings;
}

function agentTuning(setup: KubeletSetup, { nodeName, rootDir, users }: TuningFacts): AgentTuning {
  const { config, settings } = setup;
  const { crashLoopBackOff, memorySwap, singleProcessOOMKill } = config;
  const stopSignals = isFeatureEnabled(setup.gates, "ContainerStopSignals");
  const number = (flag: string, usual: number): number => Number(settings.get(flag) ?? usual);
  return {
    settings: {
      fieldRules: "kubelet",
      podLevelResources: isFeatureEnabled(setup.gates, "PodLevelResources"),
      logs: { areLinked: true },
      images: {
        dockerConfigs: dockerConfigFiles({
          root: rootDir,
          working: process.cwd(),
          home: process.env["HOME"] ?? process.cwd(),
        }),
      },
      pods: {
        resyncIntervalMs: millisecondsOf(config.syncFrequency),
        crashLoop: crashLoopOf(crashLoopBackOff, setup.gates),
        deadContainers: {
          minAgeMs: millisecondsOf(settings.get("minimum-container-ttl-duration") ?? "0s"),
          maxPerContainer: number("maximum-dead-containers-per-container", 1),
          maxContainers: number("maximum-dead-containers", -1),
        },
        volumeStatsMs: millisecondsOf(config.volumeStatsAggPeriod),
        volumeHealth: isFeatureEnabled(setup.gates, "CSIVolumeHealth"),
      },
      cgroups: {
        node: kubeletNodeCgroups(config, setup.gates),
        system: {
          kubelet: config.kubeletCgroups,
          runtime: settings.get("runtime-cgroups"),
          misc: config.systemCgroups,
        },
      },
      shutdownPeriods: kubeletShutdownPeriods(config, setup.gates),
      managers: kubeletManagerOptions(config, setup.gates),
      ...(joinsCluster(settings) ? { cluster: clusterSettings(config, setup.gates) } : {}),
    },
    runtime: {
      seLinux: seLinuxNode(isFeatureEnabled(setup.gates, "SELinuxMount")),
      containerStopSignals: stopSignals,
      cpuCfsQuota: config.cpuCFSQuota,
      cpuCfsPeriodUs: millisecondsOf(config.cpuCFSQuotaPeriod) * 1000,
      podUsers: users,
      memoryQos: kubeletMemoryQos(config, setup.gates),
      ...(singleProcessOOMKill === undefined ? {} : { singleProcessOomKill: singleProcessOOMKill }),
    },
    swapBehavior: memorySwap.swapBehavior === "LimitedSwap" ? "LimitedSwap" : "NoSwap",
    resolverConfigPath: config.resolvConf,
    node: kubeletNodeSettings(setup, nodeName),
    podCidr: config.podCIDR,
  };
}

/** How long a container waits that ends again and again. */
function crashLoopOf(
  { maxContainerRestartPeriod }: KubeletConfiguration["crashLoopBackOff"],
  gates: KubeletSetup["gates"],
): { readonly initialMs: number; readonly maxMs: number } {
  const isShort = isFeatureEnabled(gates, "ReduceDefaultCrashLoopBackOffDecay");
  const usual = isShort
    ? { initialMs: 1000, maxMs: 60_000 }
    : { initialMs: 10_000, maxMs: 300_000 };
  if (maxContainerRestartPeriod === undefined) return usual;
  const maxMs = millisecondsOf(maxContainerRestartPeriod);
  return { initialMs: Math.min(usual.initialMs, maxMs), maxMs };
}

/** The addresses of --node-ip; "0.0.0.0" and "::" stand for the machine's own of that family. */
function nodeAddresses(flag: string): readonly string[] {
  const own = readHostIps();
  if (flag === "") return own;
  return parseNodeIps(flag).flatMap((ip) => {
    if (ip !== "0.0.0.0" && ip !== "::") return [ip];
    const family = ip === "::" ? 6 : 4;
    return own.filter((address) => parseIpAddress(address)?.family === family);
  });
}

async function readNodeDns(
  config: KubeletConfiguration,
  nodeIps: readonly string[],
): Promise<NodeDns> {
  const { resolvConf, clusterDomain, clusterDNS = [] } = config;
  return {
    clusterDns: clusterDNS.filter((address) => parseIpAddress(address) !== undefined),
    clusterDomain,
    nodeIps,
    resolverConfig: resolvConf === "" ? undefined : readResolverConfig(resolvConf),
  };
}

const strategies = ["Watch", "Cache", "Get"] as const;

/** How the node treats its API server. Throws a SetupError that names the field. */
export function clusterSettings(
  config: Pick<
    KubeletConfiguration,
    "eventRecordQPS" | "eventBurst" | "configMapAndSecretChangeDetectionStrategy"
  >,
  gates: KubeletSetup["gates"],
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
  return {
    eventsPerSecond: eventRecordQPS,
    eventBurst,
    changeDetection,
    projectsTrustBundles: isFeatureEnabled(gates, "ClusterTrustBundleProjection"),
    requestsPodCertificates: isFeatureEnabled(gates, "PodCertificateRequest"),
  };
}
