// The settings of a node, in a cluster and alone.
import { isFeatureEnabled } from "../config/feature-gates.ts";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { parseThresholds } from "../core/eviction/parse-thresholds.ts";
import { nodeDeclaredFeatures } from "../core/node/declared-features.ts";
import type { NodeReservations } from "../core/node/node-allocatable.ts";
import { resourceList } from "../core/resource/resource-list.ts";
import type { NodeSettings } from "../engine/node/node-settings.ts";
import { millisecondsOf } from "../lib/duration.ts";
import { parseIpAddress } from "../lib/ip-address.ts";
import { SetupError } from "../lib/setup-error.ts";
import { kubernetesVersion } from "../lib/version.ts";
import type { RuntimeFeatures } from "../model/generated/cri.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";

/** What the runtime says of itself. */
export interface RuntimeIdentity {
  readonly name: string;
  readonly features: RuntimeFeatures | undefined;
}

/** The node of a machine that belongs to no cluster. */
export function plainNodeSettings(nodeName: string, runtime: RuntimeIdentity): NodeSettings {
  return {
    nodeName,
    hostname: nodeName,
    architecture: goArchitecture(process.arch),
    nodeLabels: {},
    registerWithTaints: [],
    providerId: "",
    externalCloudProvider: false,
    enableControllerAttachDetach: false,
    nodeIps: [],
    maxPods: 110,
    podsPerCore: 0,
    maxImages: 50,
    port: 10_250,
    kubeletVersion: kubernetesVersion,
    runtimeName: runtime.name,
    localStorageCapacityIsolation: true,
    reservations: { kubeReserved: new Map(), systemReserved: new Map(), hardThresholds: [] },
    declaredFeatures: nodeDeclaredFeatures(
      () => true,
      runtime.features?.userNamespacesHostNetwork ?? false,
    ),
    registerNode: false,
    statusUpdateMs: 10_000,
    statusReportMs: 300_000,
    leaseDurationSeconds: 40,
  };
}

/** The node that a kubelet's configuration and flags ask for. Throws a SetupError that names the field or flag. */
export function kubeletNodeSettings(
  { config, settings, gates }: KubeletSetup,
  nodeName: string,
): (runtime: RuntimeIdentity) => NodeSettings {
  const nodeIps = parseNodeIps(settings.get("node-ip") ?? "");
  const externalCloudProvider = isExternalCloudProvider(settings.get("cloud-provider") ?? "");
  const nodeLabels = parseLabels(settings.get("node-labels") ?? "");
  const ignoresEviction = settings.get("experimental-allocatable-ignore-eviction") === "true";
  const reservations = nodeReservations(config, ignoresEviction);
  return (runtime) => ({
    ...plainNodeSettings(nodeName, runtime),
    nodeLabels,
    registerWithTaints: config.registerWithTaints ?? [],
    providerId: config.providerID,
    externalCloudProvider,
    enableControllerAttachDetach: config.enableControllerAttachDetach,
    nodeIps,
    maxPods: config.maxPods,
    podsPerCore: config.podsPerCore,
    maxImages: config.nodeStatusMaxImages,
    port: config.port,
    localStorageCapacityIsolation: config.localStorageCapacityIsolation,
    reservations,
    declaredFeatures: nodeDeclaredFeatures(
      (gate) => isFeatureEnabled(gates, gate),
      runtime.features?.userNamespacesHostNetwork ?? false,
    ),
    registerNode: config.registerNode,
    statusUpdateMs: millisecondsOf(config.nodeStatusUpdateFrequency),
    statusReportMs: millisecondsOf(config.nodeStatusReportFrequency),
    leaseDurationSeconds: config.nodeLeaseDurationSeconds,
  });
}

function nodeReservations(
  config: KubeletConfiguration,
  ignoresEviction: boolean,
): NodeReservations {
  const thresholds = parseThresholds({
    evictionHard: ignoresEviction ? {} : (config.evictionHard ?? {}),
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    enforceNodeAllocatable: [],
  });
  if (!thresholds.ok) {
    throw new SetupError(`evictionHard: ${thresholds.error}`, "correct evictionHard");
  }
  return {
    kubeReserved: resourceList(config.kubeReserved),
    systemReserved: resourceList(config.systemReserved),
    hardThresholds: thresholds.value.thresholds,
  };
}

/** The addresses of --node-ip; "0.0.0.0" and "::" stand for any of their family. */
export function parseNodeIps(flag: string): readonly string[] {
  if (flag === "") return [];
  const texts = flag.split(",").map((text) => text.trim());
  const ips = texts.map((text) => parseIpAddress(text)?.text);
  const wrong = texts.find((_, index) => ips[index] === undefined);
  if (wrong !== undefined) {
    throw new SetupError(`--node-ip "${wrong}" is not an IP address`, "give one such as 10.0.0.5");
  }
  if (ips.length > 2) {
    throw new SetupError(
      `--node-ip "${flag}" has more than two addresses`,
      "give one, or one of IPv4 and one of IPv6",
    );
  }
  return ips.filter((ip) => ip !== undefined);
}

function isExternalCloudProvider(flag: string): boolean {
  if (flag === "" || flag === "external") return flag !== "";
  throw new SetupError(
    `--cloud-provider "${flag}" is unknown: clouds have controllers of their own`,
    'leave it out, or set "external"',
  );
}

function parseLabels(flag: string): Readonly<Record<string, string>> {
  const pairs = flag.split(",").flatMap((pair) => {
    const [key = "", ...value] = pair.split("=");
    return key.trim() === "" ? [] : [[key.trim(), value.join("=").trim()] as const];
  });
  return Object.fromEntries(pairs);
}

/** As Go calls what Node calls otherwise. */
export function goArchitecture(name: string): string {
  const other: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le" };
  return other[name] ?? name;
}
